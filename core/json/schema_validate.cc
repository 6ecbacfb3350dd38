// Validation: one pass over the nodes, with what has been evaluated noted only where unevaluated*
// will ask.
#include <algorithm>
#include <unordered_map>

#include "core/base/error.h"
#include "core/json/equal.h"
#include "core/json/number.h"
#include "core/json/schema.h"
#include "core/json/schema_formats.h"
#include "core/json/schema_node.h"
#include "core/json/schema_state.h"
#include "core/json/schema_uri.h"

namespace hone {
namespace {

// Nested schemas on the way to one value; documents are at most 256 deep, references add to it.
constexpr int kMaxDepth = 1024;

// Up to this many elements uniqueItems compares pairs, beyond it canonical texts.
constexpr size_t kPairwise = 12;

// Which members (by position) or elements of one instance value have been evaluated.
struct Evaluated {
  std::vector<bool> seen;
  bool all = false;

  void add(size_t position) {
    if (seen.size() <= position) seen.resize(position + 1);
    seen[position] = true;
  }
  [[nodiscard]] bool has(size_t position) const {
    return all || (position < seen.size() && seen[position]);
  }
  void merge(const Evaluated& other) {
    all = all || other.all;
    if (seen.size() < other.seen.size()) seen.resize(other.seen.size());
    for (size_t i = 0; i < other.seen.size(); ++i) {
      if (other.seen[i]) seen[i] = true;
    }
  }
};

const Json::object_t& members_of(const Json& object) {
  return *object.get_ptr<const Json::object_t*>();
}

const Json* find_member(const Json& object, const std::string& name) {
  for (const auto& [key, value] : members_of(object)) {
    if (key == name) return &value;
  }
  return nullptr;
}

size_t code_points(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// For messages: long values are cut.
std::string quote(const Json& value) {
  std::string text = dump_json(value);
  constexpr size_t kMost = 80;
  if (text.size() <= kMost) return text;
  size_t end = kMost;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) --end;
  text.resize(end);
  return text + "...";
}

const char* type_name(const Json& value) {
  if (value.is_number()) return is_integral(value) ? "integer" : "number";
  return value.type_name();
}

class Validation {
 public:
  explicit Validation(size_t limit) : limit_(limit) {}

  std::vector<SchemaViolation> run(const SchemaNode& root, const Json& instance) {
    out_ = &violations_;
    check(root, instance, nullptr);
    return std::move(violations_);
  }

  bool holds(const SchemaNode& root, const Json& instance) {
    return check(root, instance, nullptr);
  }

 private:
  struct Step {
    const std::string* key;  // null: an element
    size_t index;
  };

  // `message` makes the text; it is called only when the text is wanted.
  template <typename Message>
  bool report(const SchemaNode& node, std::string_view keyword, Message&& message) {
    if (out_ != nullptr && out_->size() < limit_) {
      std::string path = node.path;
      if (!keyword.empty()) path += "/" + std::string(keyword);
      out_->push_back({instance_path(), std::move(path), message()});
    }
    return false;
  }

  // Whether to look at further keywords after a failure: only to collect more violations.
  [[nodiscard]] bool go_on(bool ok) const {
    return ok || (out_ != nullptr && out_->size() < limit_);
  }

  [[nodiscard]] std::string instance_path() const {
    std::string path;
    for (const Step& step : steps_) {
      path += '/';
      path += step.key != nullptr ? escape_pointer(*step.key) : std::to_string(step.index);
    }
    return path;
  }

  // For keywords that only ask whether a schema holds.
  bool quietly(const SchemaNode& node, const Json& value, Evaluated* evaluated) {
    auto* const out = std::exchange(out_, nullptr);
    const bool ok = check(node, value, evaluated);
    out_ = out;
    return ok;
  }

  bool check_member(const SchemaNode& node, const std::string& key, const Json& value) {
    steps_.push_back({&key, 0});
    const bool ok = check(node, value, nullptr);
    steps_.pop_back();
    return ok;
  }

  bool check_element(const SchemaNode& node, size_t index, const Json& value) {
    steps_.push_back({nullptr, index});
    const bool ok = check(node, value, nullptr);
    steps_.pop_back();
    return ok;
  }

  // `evaluated` collects what an outer unevaluated* wants to know about this same value; may be
  // null.
  bool check(const SchemaNode& node, const Json& value, Evaluated* evaluated) {
    if (node.never) return report(node, "", [] { return "nothing is allowed here"; });
    require_data(
        ++depth_ <= kMaxDepth,
        "schema {}: its references recurse without end on the value at \"{}\"",
        node.path,
        instance_path()
    );
    const bool enters = scope_.empty() || scope_.back() != node.resource;
    if (enters) scope_.push_back(node.resource);

    Evaluated own;
    const bool asks = node.unevaluated_properties != nullptr || node.unevaluated_items != nullptr;
    Evaluated* const local = asks || evaluated != nullptr ? &own : nullptr;

    bool ok = check_value(node, value);
    if (go_on(ok)) ok = check_in_place(node, value, local) && ok;
    if (value.is_object()) {
      if (go_on(ok)) ok = check_object(node, value, local) && ok;
      if (go_on(ok)) ok = check_unevaluated_properties(node, value, local) && ok;
    } else if (value.is_array()) {
      if (go_on(ok)) ok = check_array(node, value, local) && ok;
      if (go_on(ok)) ok = check_unevaluated_items(node, value, local) && ok;
    }
    if (ok && evaluated != nullptr) evaluated->merge(own);

    if (enters) scope_.pop_back();
    --depth_;
    return ok;
  }

  bool check_value(const SchemaNode& node, const Json& value) {
    bool ok = true;
    if (node.types != 0 && (node.types & schema_type_of(value)) == 0) {
      ok = report(node, "type", [&] {
        return fmt::format(
            "expected {}, found {}", schema_type_names(node.types), type_name(value)
        );
      });
    }
    if (node.enumeration != nullptr && go_on(ok) &&
        std::ranges::none_of(*node.enumeration, [&](const Json& allowed) {
          return json_equal(allowed, value);
        })) {
      ok = report(node, "enum", [&] {
        return fmt::format("expected one of {}, found {}", quote(*node.enumeration), quote(value));
      });
    }
    if (node.constant != nullptr && go_on(ok) && !json_equal(*node.constant, value)) {
      ok = report(node, "const", [&] {
        return fmt::format("expected {}, found {}", quote(*node.constant), quote(value));
      });
    }
    if (value.is_string() && go_on(ok)) ok = check_string(node, value) && ok;
    if (value.is_number() && go_on(ok)) ok = check_number(node, value) && ok;
    return ok;
  }

  bool check_string(const SchemaNode& node, const Json& value) {
    const auto& text = value.get_ref<const std::string&>();
    bool ok = true;
    if (node.max_length || node.min_length) {
      ok = check_size(
          node,
          code_points(text),
          "characters",
          {"minLength", node.min_length},
          {"maxLength", node.max_length}
      );
    }
    if (node.pattern != nullptr && go_on(ok) && !node.pattern->matches(text)) {
      ok = report(node, "pattern", [&] {
        return fmt::format("{} does not match \"{}\"", quote(value), node.pattern_text);
      });
    }
    if (node.assert_format && go_on(ok) && !matches_format(node.format, text)) {
      ok = report(node, "format", [&] {
        return fmt::format("{} is no {}", quote(value), node.format);
      });
    }
    return ok;
  }

  struct Bound {
    const char* keyword;
    std::optional<uint64_t> value;
  };

  bool check_size(
      const SchemaNode& node, size_t size, const char* unit, const Bound& least, const Bound& most
  ) {
    bool ok = true;
    if (least.value && size < *least.value) {
      ok = report(node, least.keyword, [&] {
        return fmt::format("expected at least {} {}, found {}", *least.value, unit, size);
      });
    }
    if (most.value && size > *most.value) {
      ok = report(node, most.keyword, [&] {
        return fmt::format("expected at most {} {}, found {}", *most.value, unit, size);
      });
    }
    return ok;
  }

  bool check_number(const SchemaNode& node, const Json& value) {
    bool ok = true;
    const auto bound = [&](const Json* limit, const char* keyword, const char* words, auto within) {
      if (limit == nullptr || !go_on(ok) || within(compare_numbers(value, *limit))) return;
      ok = report(node, keyword, [&] {
        return fmt::format("expected {} {}, found {}", words, quote(*limit), quote(value));
      });
    };
    bound(node.minimum, "minimum", "at least", [](auto order) { return order >= 0; });
    bound(node.maximum, "maximum", "at most", [](auto order) { return order <= 0; });
    bound(node.exclusive_minimum, "exclusiveMinimum", "more than", [](auto order) {
      return order > 0;
    });
    bound(node.exclusive_maximum, "exclusiveMaximum", "less than", [](auto order) {
      return order < 0;
    });
    if (node.multiple_of != nullptr && go_on(ok) && !is_multiple_of(value, *node.multiple_of)) {
      ok = report(node, "multipleOf", [&] {
        return fmt::format(
            "expected a multiple of {}, found {}", quote(*node.multiple_of), quote(value)
        );
      });
    }
    return ok;
  }

  // Keywords whose subschemas apply to the same value.
  bool check_in_place(const SchemaNode& node, const Json& value, Evaluated* local) {
    bool ok = true;
    if (node.ref != nullptr) ok = check(*node.ref, value, local);
    if (node.dynamic_ref != nullptr && go_on(ok)) {
      ok = check(dynamic_target(node), value, local) && ok;
    }
    for (const SchemaNode* schema : node.all_of) {
      if (go_on(ok)) ok = check(*schema, value, local) && ok;
    }
    if (!node.any_of.empty() && go_on(ok)) {
      bool any = false;
      for (const SchemaNode* schema : node.any_of) {
        // All that hold say what they evaluated; without a listener the first one decides.
        if (any && local == nullptr) break;
        any = quietly(*schema, value, local) || any;
      }
      if (!any) ok = report_alternatives(node, "anyOf", node.any_of, value);
    }
    if (!node.one_of.empty() && go_on(ok)) ok = check_one_of(node, value, local) && ok;
    if (node.negation != nullptr && go_on(ok) && quietly(*node.negation, value, nullptr)) {
      ok = report(node, "not", [&] {
        return fmt::format("{} is what \"not\" forbids", quote(value));
      });
    }
    if (node.condition != nullptr && go_on(ok)) {
      const SchemaNode* branch =
          quietly(*node.condition, value, local) ? node.then : node.otherwise;
      if (branch != nullptr) ok = check(*branch, value, local) && ok;
    }
    if (value.is_object()) {
      for (const auto& [name, schema] : node.dependent_schemas) {
        if (!go_on(ok)) break;
        if (find_member(value, name) != nullptr) ok = check(*schema, value, local) && ok;
      }
    }
    return ok;
  }

  bool check_one_of(const SchemaNode& node, const Json& value, Evaluated* local) {
    std::vector<size_t> holding;
    for (size_t i = 0; i < node.one_of.size() && holding.size() < 2; ++i) {
      if (quietly(*node.one_of[i], value, local)) holding.push_back(i);
    }
    if (holding.size() == 1) return true;
    if (holding.empty()) return report_alternatives(node, "oneOf", node.one_of, value);
    return report(node, "oneOf", [&] {
      return fmt::format(
          "expected exactly one alternative to hold, but {} and {} do", holding[0], holding[1]
      );
    });
  }

  // None holds: tells what the nearest one, the one that fails deepest in the value, misses.
  bool report_alternatives(
      const SchemaNode& node,
      const char* keyword,
      const std::vector<const SchemaNode*>& alternatives,
      const Json& value
  ) {
    if (!go_on(false)) return false;
    SchemaViolation nearest;
    size_t depth = 0;
    for (const SchemaNode* schema : alternatives) {
      std::vector<SchemaViolation> found;
      auto* const out = std::exchange(out_, &found);
      const size_t limit = std::exchange(limit_, 1);
      check(*schema, value, nullptr);
      out_ = out;
      limit_ = limit;
      if (found.empty()) continue;
      const auto slashes =
          static_cast<size_t>(std::ranges::count(found.front().instance_path, '/')) + 1;
      if (slashes > depth) {
        depth = slashes;
        nearest = std::move(found.front());
      }
    }
    return report(node, keyword, [&] {
      return fmt::format(
          "none of the {} alternatives holds (nearest: \"{}\": {})",
          alternatives.size(),
          nearest.instance_path,
          nearest.message
      );
    });
  }

  // The outermost schema of the dynamic scope that has the anchor.
  [[nodiscard]] const SchemaNode& dynamic_target(const SchemaNode& node) const {
    for (const SchemaResource* resource : scope_) {
      if (node.recursive && resource->recursive_anchor) return *resource->root_node;
      if (node.dynamic_anchor.empty()) continue;
      const auto it = resource->dynamic_anchors.find(node.dynamic_anchor);
      if (it != resource->dynamic_anchors.end()) return *it->second;
    }
    return *node.dynamic_ref;
  }

  bool check_object(const SchemaNode& node, const Json& value, Evaluated* local) {
    bool ok = check_size(
        node,
        value.size(),
        "members",
        {"minProperties", node.min_properties},
        {"maxProperties", node.max_properties}
    );
    for (const std::string& name : node.required) {
      if (go_on(ok) && find_member(value, name) == nullptr) {
        ok = report(node, "required", [&] { return fmt::format("\"{}\" is missing", name); });
      }
    }
    for (const auto& [name, needed] : node.dependent_required) {
      if (!go_on(ok) || find_member(value, name) == nullptr) continue;
      for (const std::string& other : needed) {
        if (find_member(value, other) != nullptr) continue;
        ok = report(node, "dependentRequired", [&] {
          return fmt::format("\"{}\" is missing, which \"{}\" needs", other, name);
        });
      }
    }
    if (node.properties.empty() && node.pattern_properties.empty() &&
        node.additional_properties == nullptr && node.property_names == nullptr) {
      return ok;
    }
    size_t position = 0;
    for (const auto& [name, member] : members_of(value)) {
      if (!go_on(ok)) break;
      ok = check_one_member(node, name, member, local, position++) && ok;
    }
    return ok;
  }

  bool check_one_member(
      const SchemaNode& node,
      const std::string& name,
      const Json& member,
      Evaluated* local,
      size_t position
  ) {
    bool ok = true;
    bool matched = false;
    const auto apply = [&](const SchemaNode& schema) {
      matched = true;
      if (go_on(ok)) ok = check_member(schema, name, member) && ok;
    };
    if (const auto it = node.properties.find(name); it != node.properties.end()) apply(*it->second);
    for (const auto& property : node.pattern_properties) {
      if (property.pattern->matches(name)) apply(*property.schema);
    }
    if (!matched && node.additional_properties != nullptr) {
      if (node.additional_properties->never) {
        ok = report(node, "additionalProperties", [&] {
          return fmt::format("\"{}\" is not allowed here", name);
        });
      } else {
        apply(*node.additional_properties);
      }
    }
    if (matched && local != nullptr) local->add(position);
    if (node.property_names != nullptr && go_on(ok)) {
      const Json text(name);
      if (!quietly(*node.property_names, text, nullptr)) {
        std::vector<SchemaViolation> why;
        if (go_on(false)) why = Validation(1).run(*node.property_names, text);
        ok = report(node, "propertyNames", [&] {
          return fmt::format(
              "the name \"{}\" is not allowed: {}", name, why.empty() ? "" : why.front().message
          );
        });
      }
    }
    return ok;
  }

  bool check_unevaluated_properties(const SchemaNode& node, const Json& value, Evaluated* local) {
    if (node.unevaluated_properties == nullptr) return true;
    bool ok = true;
    size_t position = 0;
    for (const auto& [name, member] : members_of(value)) {
      if (local->has(position++) || !go_on(ok)) continue;
      if (node.unevaluated_properties->never) {
        ok = report(node, "unevaluatedProperties", [&] {
          return fmt::format("\"{}\" is not allowed here", name);
        });
      } else {
        ok = check_member(*node.unevaluated_properties, name, member) && ok;
      }
    }
    local->all = true;
    return ok;
  }

  bool check_array(const SchemaNode& node, const Json& value, Evaluated* local) {
    bool ok = check_size(
        node, value.size(), "elements", {"minItems", node.min_items}, {"maxItems", node.max_items}
    );
    const size_t prefix = std::min(node.prefix_items.size(), value.size());
    for (size_t i = 0; i < prefix && go_on(ok); ++i) {
      ok = check_element(*node.prefix_items[i], i, value[i]) && ok;
      if (local != nullptr) local->add(i);
    }
    if (node.items != nullptr && node.items->never && value.size() > prefix && go_on(ok)) {
      ok = report(node, node.items_keyword, [&] {
        return fmt::format("expected at most {} elements, found {}", prefix, value.size());
      });
    } else if (node.items != nullptr) {
      for (size_t i = prefix; i < value.size() && go_on(ok); ++i) {
        ok = check_element(*node.items, i, value[i]) && ok;
      }
    }
    if (node.items != nullptr && local != nullptr) local->all = true;
    if (node.contains != nullptr && go_on(ok)) ok = check_contains(node, value, local) && ok;
    if (node.unique_items && go_on(ok)) ok = check_unique(node, value) && ok;
    return ok;
  }

  bool check_contains(const SchemaNode& node, const Json& value, Evaluated* local) {
    size_t found = 0;
    for (size_t i = 0; i < value.size(); ++i) {
      if (!quietly(*node.contains, value[i], nullptr)) continue;
      ++found;
      if (node.contains_evaluates && local != nullptr) local->add(i);
    }
    const bool counted = node.min_contains.has_value();
    return check_size(
        node,
        found,
        "elements that match \"contains\"",
        {counted ? "minContains" : "contains", node.min_contains.value_or(1)},
        {"maxContains", node.max_contains}
    );
  }

  bool check_unique(const SchemaNode& node, const Json& value) {
    const auto repeated = [&](size_t first, size_t second) {
      return report(node, "uniqueItems", [&] {
        return fmt::format("elements {} and {} are equal: {}", first, second, quote(value[first]));
      });
    };
    if (value.size() <= kPairwise) {
      for (size_t i = 1; i < value.size(); ++i) {
        for (size_t j = 0; j < i; ++j) {
          if (json_equal(value[j], value[i])) return repeated(j, i);
        }
      }
      return true;
    }
    std::unordered_map<std::string, size_t> known;
    for (size_t i = 0; i < value.size(); ++i) {
      const auto [it, added] = known.emplace(canonical_json(value[i]), i);
      if (!added) return repeated(it->second, i);
    }
    return true;
  }

  bool check_unevaluated_items(const SchemaNode& node, const Json& value, Evaluated* local) {
    if (node.unevaluated_items == nullptr) return true;
    bool ok = true;
    for (size_t i = 0; i < value.size() && go_on(ok); ++i) {
      if (local->has(i)) continue;
      if (node.unevaluated_items->never) {
        ok = report(node, "unevaluatedItems", [&] {
          return fmt::format("element {} is not allowed here", i);
        });
      } else {
        ok = check_element(*node.unevaluated_items, i, value[i]) && ok;
      }
    }
    local->all = true;
    return ok;
  }

  size_t limit_;
  int depth_ = 0;
  std::vector<Step> steps_;
  std::vector<const SchemaResource*> scope_;
  std::vector<SchemaViolation> violations_;
  std::vector<SchemaViolation>* out_ = nullptr;  // null: only yes or no is wanted
};

}  // namespace

std::vector<SchemaViolation> JsonSchema::validate(const Json& instance, int limit) const {
  return Validation(static_cast<size_t>(std::max(limit, 1))).run(*state_->root, instance);
}

bool JsonSchema::valid(const Json& instance) const {
  return Validation(1).holds(*state_->root, instance);
}

}  // namespace hone
