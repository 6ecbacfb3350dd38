// Validation: keywords in turn, with the annotations that unevaluated* needs.
#include <algorithm>
#include <cmath>
#include <set>

#include "core/base/error.h"
#include "core/json/equal.h"
#include "core/json/schema.h"
#include "core/json/schema_node.h"

namespace hone {
namespace {

constexpr int kMaxDepth = 512;

// What has been evaluated of one instance location.
struct Evaluated {
  std::set<std::string> properties;
  std::set<size_t> items;
  bool all_items = false;

  void merge(const Evaluated& other) {
    properties.insert(other.properties.begin(), other.properties.end());
    items.insert(other.items.begin(), other.items.end());
    all_items = all_items || other.all_items;
  }
};

size_t code_points(const std::string& text) {
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

bool is_whole(const Json& value) {
  return value.is_number_integer() ||
         (value.is_number_float() && std::isfinite(value.get<double>()) &&
          value.get<double>() == std::floor(value.get<double>()));
}

unsigned type_bits(const Json& value) {
  if (value.is_null()) return kTypeNull;
  if (value.is_boolean()) return kTypeBoolean;
  if (value.is_object()) return kTypeObject;
  if (value.is_array()) return kTypeArray;
  if (value.is_string()) return kTypeString;
  return is_whole(value) ? kTypeNumber | kTypeInteger : kTypeNumber;
}

std::string type_list(unsigned types) {
  constexpr std::pair<unsigned, const char*> kNames[] = {
      {kTypeNull, "null"},
      {kTypeBoolean, "boolean"},
      {kTypeObject, "object"},
      {kTypeArray, "array"},
      {kTypeNumber, "number"},
      {kTypeString, "string"},
      {kTypeInteger, "integer"}};
  std::string text;
  for (const auto& [bit, name] : kNames) {
    if ((types & bit) != 0) text += (text.empty() ? "" : " or ") + std::string(name);
  }
  return text;
}

bool is_multiple(double value, double divisor) {
  const double quotient = value / divisor;
  if (!std::isfinite(quotient)) return false;
  // Decimal fractions are not exact in binary: 0.0075 is a multiple of 0.0001.
  return std::fabs(quotient - std::round(quotient)) <= 1e-12 * std::max(1.0, std::fabs(quotient));
}

std::string escaped(const std::string& token) {
  std::string result;
  for (const char c : token) result += c == '~' ? "~0" : c == '/' ? "~1" : std::string(1, c);
  return result;
}

}  // namespace

// One validation; holds the dynamic scope.
class SchemaValidator {
 public:
  using Node = JsonSchema::Node;

  SchemaValidator(const JsonSchema::State& state, size_t limit) : state_(state), limit_(limit) {}

  std::vector<SchemaViolation> run(const Json& instance) {
    Evaluated evaluated;
    check(*state_.root, instance, "", evaluated);
    return std::move(violations_);
  }

 private:
  bool report(const Node& node, const char* keyword, const std::string& at, std::string message) {
    if (silent_ == 0 && violations_.size() < limit_) {
      violations_.push_back({at, node.path + "/" + keyword, std::move(message)});
    }
    return false;
  }

  // In what only decides (anyOf, not, if, contains) violations are no errors of the instance.
  bool holds(const Node& node, const Json& value, const std::string& at, Evaluated& evaluated) {
    ++silent_;
    const bool ok = check(node, value, at, evaluated);
    --silent_;
    return ok;
  }

  // Every keyword is looked at, so that all violations are reported; silently the first one ends.
  bool check(const Node& node, const Json& value, const std::string& at, Evaluated& evaluated) {
    if (node.never) return report(node, "", at, "nothing is allowed here");
    require_data(++depth_ < kMaxDepth, "schema {}: endless recursion", node.path);
    const bool scoped = scope_.empty() || scope_.back() != node.resource;
    if (scoped) scope_.push_back(node.resource);
    Evaluated local;
    bool ok = general(node, value, at);
    ok = (ok || silent_ == 0) && applicators(node, value, at, local) && ok;
    if (value.is_string() && (ok || silent_ == 0)) ok = text(node, value, at) && ok;
    if (value.is_number() && (ok || silent_ == 0)) ok = number(node, value, at) && ok;
    if (value.is_array() && (ok || silent_ == 0)) ok = array(node, value, at, local) && ok;
    if (value.is_object() && (ok || silent_ == 0)) ok = object(node, value, at, local) && ok;
    if (ok || silent_ == 0) ok = unevaluated(node, value, at, local) && ok;
    if (ok) evaluated.merge(local);
    if (scoped) scope_.pop_back();
    --depth_;
    return ok;
  }

  bool general(const Node& node, const Json& value, const std::string& at) {
    bool ok = true;
    if (node.types != 0 && (node.types & type_bits(value)) == 0) {
      ok = report(
          node,
          "type",
          at,
          fmt::format("expected {}, found {}", type_list(node.types), value.type_name())
      );
    }
    if (node.enumeration && std::ranges::none_of(*node.enumeration, [&](const Json& allowed) {
          return json_equal(allowed, value);
        })) {
      ok = report(
          node,
          "enum",
          at,
          fmt::format("{} is none of {}", dump_json(value), dump_json(Json(*node.enumeration)))
      );
    }
    if (node.constant && !json_equal(*node.constant, value)) {
      ok = report(
          node,
          "const",
          at,
          fmt::format("{} is not {}", dump_json(value), dump_json(*node.constant))
      );
    }
    return ok;
  }

  bool text(const Node& node, const Json& value, const std::string& at) {
    if (!node.max_length && !node.min_length && !node.pattern) return true;
    const auto& string = value.get_ref<const std::string&>();
    const size_t length = code_points(string);
    bool ok = true;
    if (node.max_length && length > *node.max_length) {
      ok = report(
          node, "maxLength", at, fmt::format("{} characters, at most {}", length, *node.max_length)
      );
    }
    if (node.min_length && length < *node.min_length) {
      ok = report(
          node, "minLength", at, fmt::format("{} characters, at least {}", length, *node.min_length)
      );
    }
    if (node.pattern && !node.pattern->matches(string)) {
      ok = report(node, "pattern", at, fmt::format("{} does not match", dump_json(value)));
    }
    return ok;
  }

  bool number(const Node& node, const Json& value, const std::string& at) {
    const auto x = value.get<double>();
    bool ok = true;
    const auto bound = [&](const std::optional<double>& limit, const char* keyword, auto within) {
      if (limit && !within(x, *limit)) {
        ok = report(node, keyword, at, fmt::format("{} against {}", dump_json(value), *limit));
      }
    };
    bound(node.maximum, "maximum", std::less_equal<>());
    bound(node.exclusive_maximum, "exclusiveMaximum", std::less<>());
    bound(node.minimum, "minimum", std::greater_equal<>());
    bound(node.exclusive_minimum, "exclusiveMinimum", std::greater<>());
    bound(node.multiple_of, "multipleOf", is_multiple);
    return ok;
  }

  bool array(const Node& node, const Json& value, const std::string& at, Evaluated& local) {
    bool ok = true;
    const auto sub = [&](const Node& schema, size_t i) {
      Evaluated ignored;
      return check(schema, value[i], fmt::format("{}/{}", at, i), ignored);
    };
    for (size_t i = 0; i < value.size(); ++i) {
      const Node* schema = i < node.prefix_items.size() ? node.prefix_items[i] : node.items;
      if (schema == nullptr) continue;
      ok = sub(*schema, i) && ok;
      local.items.insert(i);
    }
    if (node.items != nullptr) local.all_items = true;
    if (node.contains != nullptr) {
      uint64_t found = 0;
      for (size_t i = 0; i < value.size(); ++i) {
        Evaluated ignored;
        if (!holds(*node.contains, value[i], at, ignored)) continue;
        ++found;
        local.items.insert(i);
      }
      const uint64_t least = node.min_contains.value_or(1);
      if (found < least) {
        ok = report(
            node, "contains", at, fmt::format("{} matching elements, at least {}", found, least)
        );
      }
      if (node.max_contains && found > *node.max_contains) {
        ok = report(
            node,
            "maxContains",
            at,
            fmt::format("{} matching elements, at most {}", found, *node.max_contains)
        );
      }
    }
    if (node.max_items && value.size() > *node.max_items) {
      ok = report(
          node,
          "maxItems",
          at,
          fmt::format("{} elements, at most {}", value.size(), *node.max_items)
      );
    }
    if (node.min_items && value.size() < *node.min_items) {
      ok = report(
          node,
          "minItems",
          at,
          fmt::format("{} elements, at least {}", value.size(), *node.min_items)
      );
    }
    if (node.unique_items) ok = unique(node, value, at) && ok;
    return ok;
  }

  bool unique(const Node& node, const Json& value, const std::string& at) {
    for (size_t i = 0; i < value.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (json_equal(value[i], value[j])) {
          return report(node, "uniqueItems", at, fmt::format("elements {} and {} are equal", j, i));
        }
      }
    }
    return true;
  }

  bool object(const Node& node, const Json& value, const std::string& at, Evaluated& local) {
    bool ok = true;
    for (auto it = value.begin(); it != value.end(); ++it) {
      const std::string& name = it.key();
      const Json& member = *it;
      const std::string path = at + "/" + escaped(name);
      bool matched = false;
      const auto apply = [&](const Node& schema) {
        Evaluated ignored;
        matched = true;
        ok = check(schema, member, path, ignored) && ok;
      };
      if (auto found = node.properties.find(name); found != node.properties.end()) {
        apply(*found->second);
      }
      for (const auto& [pattern, schema] : node.pattern_properties) {
        if (pattern->matches(name)) apply(*schema);
      }
      if (!matched && node.additional_properties != nullptr) {
        if (node.additional_properties->never) {
          ok = report(node, "additionalProperties", at, fmt::format("unknown key \"{}\"", name));
          matched = true;
        } else {
          apply(*node.additional_properties);
        }
      }
      if (matched) local.properties.insert(name);
      if (node.property_names != nullptr) {
        Evaluated ignored;
        ok = check(*node.property_names, Json(name), path, ignored) && ok;
      }
    }
    for (const std::string& name : node.required) {
      if (!value.contains(name)) {
        ok = report(node, "required", at, fmt::format("\"{}\" is missing", name));
      }
    }
    for (const auto& [name, needed] : node.dependent_required) {
      if (!value.contains(name)) continue;
      for (const std::string& other : needed) {
        if (!value.contains(other)) {
          ok = report(
              node, "dependentRequired", at, fmt::format("\"{}\" needs \"{}\"", name, other)
          );
        }
      }
    }
    for (const auto& [name, schema] : node.dependent_schemas) {
      if (value.contains(name)) ok = check(*schema, value, at, local) && ok;
    }
    if (node.max_properties && value.size() > *node.max_properties) {
      ok = report(
          node,
          "maxProperties",
          at,
          fmt::format("{} keys, at most {}", value.size(), *node.max_properties)
      );
    }
    if (node.min_properties && value.size() < *node.min_properties) {
      ok = report(
          node,
          "minProperties",
          at,
          fmt::format("{} keys, at least {}", value.size(), *node.min_properties)
      );
    }
    return ok;
  }

  bool applicators(const Node& node, const Json& value, const std::string& at, Evaluated& local) {
    bool ok = true;
    if (node.ref != nullptr) ok = check(*node.ref, value, at, local) && ok;
    if (node.dynamic_ref != nullptr) ok = check(dynamic_target(node), value, at, local) && ok;
    for (const Node* schema : node.all_of) ok = check(*schema, value, at, local) && ok;
    if (!node.any_of.empty()) {
      bool any = false;
      // All are tried: each that holds adds to what is evaluated.
      for (const Node* schema : node.any_of) any = holds(*schema, value, at, local) || any;
      if (!any) ok = report(node, "anyOf", at, "no alternative holds");
    }
    if (!node.one_of.empty()) {
      int count = 0;
      for (const Node* schema : node.one_of) count += holds(*schema, value, at, local) ? 1 : 0;
      if (count != 1) {
        ok = report(node, "oneOf", at, fmt::format("{} alternatives hold instead of one", count));
      }
    }
    if (node.negation != nullptr) {
      Evaluated ignored;
      if (holds(*node.negation, value, at, ignored)) {
        ok = report(node, "not", at, "the forbidden schema holds");
      }
    }
    if (node.condition != nullptr) {
      const Node* branch = holds(*node.condition, value, at, local) ? node.then : node.otherwise;
      if (branch != nullptr) ok = check(*branch, value, at, local) && ok;
    }
    return ok;
  }

  // The outermost resource of the dynamic scope that has the anchor.
  const Node& dynamic_target(const Node& node) const {
    if (node.dynamic_anchor.empty()) return *node.dynamic_ref;
    for (const std::string& resource : scope_) {
      auto it = state_.dynamic_anchors.find({resource, node.dynamic_anchor});
      if (it != state_.dynamic_anchors.end()) return *it->second;
    }
    return *node.dynamic_ref;
  }

  bool unevaluated(const Node& node, const Json& value, const std::string& at, Evaluated& local) {
    bool ok = true;
    Evaluated ignored;
    if (node.unevaluated_properties != nullptr && value.is_object()) {
      for (const auto& [name, member] : value.items()) {
        if (local.properties.contains(name)) continue;
        ok = check(*node.unevaluated_properties, member, at + "/" + escaped(name), ignored) && ok;
        local.properties.insert(name);
      }
    }
    if (node.unevaluated_items != nullptr && value.is_array() && !local.all_items) {
      for (size_t i = 0; i < value.size(); ++i) {
        if (local.items.contains(i)) continue;
        ok = check(*node.unevaluated_items, value[i], fmt::format("{}/{}", at, i), ignored) && ok;
      }
      local.all_items = true;
    }
    return ok;
  }

  const JsonSchema::State& state_;
  size_t limit_;
  int silent_ = 0;
  int depth_ = 0;
  std::vector<std::string> scope_;
  std::vector<SchemaViolation> violations_;
};

std::vector<SchemaViolation> JsonSchema::validate(const Json& instance, int limit) const {
  return SchemaValidator(*state_, static_cast<size_t>(std::max(1, limit))).run(instance);
}

}  // namespace hone
