#include "core/json/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace {

constexpr size_t kMaxDepth = 256;

// From this size on an object's repeated keys are found by sorting: comparing each key with all
// before it would let a hostile document of a few megabytes take minutes.
constexpr size_t kLinearKeys = 32;

// Shortens at a character's start, for error messages that quote input.
std::string shorten(std::string text, size_t limit) {
  if (text.size() <= limit) return text;
  while (limit > 0 && (static_cast<unsigned char>(text[limit]) & 0xC0) == 0x80) --limit;
  text.resize(limit);
  return text + "...";
}

std::string describe(const Json& value) {
  std::string text = std::string(value.type_name());
  if (value.is_null() || value.is_structured()) return text;
  return text + " " + shorten(dump_json(value), 60);
}

// Builds the document; of several equal keys the last one's value counts, at the first one's place.
class Builder : public nlohmann::json_sax<Json> {
  // What ordered_map is made of.
  using Members = std::vector<Json::object_t::value_type>;

 public:
  bool null() override { return value(nullptr); }
  bool boolean(bool v) override { return value(v); }
  bool number_integer(number_integer_t v) override { return value(v); }
  bool number_unsigned(number_unsigned_t v) override { return value(v); }
  bool number_float(number_float_t v, const string_t& /*text*/) override { return value(v); }
  bool string(string_t& v) override { return value(std::move(v)); }
  bool binary(binary_t& v) override { return value(std::move(v)); }
  bool start_object(size_t /*size*/) override { return open(Json::object()); }
  bool start_array(size_t /*size*/) override { return open(Json::array()); }
  bool end_array() override {
    stack_.pop_back();
    return true;
  }
  bool end_object() override {
    remove_repeated_keys(*stack_.back()->get_ptr<Json::object_t*>());
    stack_.pop_back();
    return true;
  }

  bool key(string_t& name) override {
    auto& members = *stack_.back()->get_ptr<Json::object_t*>();
    if (members.size() < kLinearKeys) {
      const auto known = members.find(name);
      if (known != members.end()) {
        slot_ = &known->second;
        return true;
      }
    }
    // ordered_map's own emplace() would search all keys again.
    slot_ = &static_cast<Members&>(members).emplace_back(std::move(name), nullptr).second;
    return true;
  }

  bool parse_error(
      size_t position, const std::string& /*token*/, const nlohmann::detail::exception& error
  ) override {
    std::string text = error.what();
    if (const size_t end = text.find("] "); end != std::string::npos) text.erase(0, end + 2);
    // `position` counts the bytes read, the offending one included.
    fail(position == 0 ? 0 : position - 1, shorten(std::move(text), 300));
    return false;
  }

  [[nodiscard]] bool too_deep() const { return too_deep_; }
  [[nodiscard]] size_t error_offset() const { return error_offset_; }
  [[nodiscard]] const std::string& error() const { return error_; }
  Json take() { return std::move(root_); }

 private:
  bool value(Json v) {
    *place() = std::move(v);
    return true;
  }

  bool open(Json container) {
    if (stack_.size() == kMaxDepth) {
      too_deep_ = true;
      return false;
    }
    Json* slot = place();
    *slot = std::move(container);
    stack_.push_back(slot);
    return true;
  }

  // Where the next value goes. Pointers on the stack stay valid: only the innermost container
  // grows.
  Json* place() {
    if (stack_.empty()) return &root_;
    if (stack_.back()->is_object()) return slot_;
    auto& items = *stack_.back()->get_ptr<Json::array_t*>();
    return &items.emplace_back();
  }

  void fail(size_t offset, std::string text) {
    error_offset_ = offset;
    error_ = std::move(text);
  }

  static void remove_repeated_keys(Members& members) {
    if (members.size() <= kLinearKeys) return;
    std::vector<size_t> order(members.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      return members[a].first < members[b].first;
    });
    std::vector<bool> drop(members.size());
    bool any = false;
    for (size_t first = 0; first < order.size();) {
      size_t last = first;
      while (last + 1 < order.size() &&
             members[order[last + 1]].first == members[order[first]].first) {
        drop[order[++last]] = true;
        any = true;
      }
      if (last != first) members[order[first]].second = std::move(members[order[last]].second);
      first = last + 1;
    }
    if (!any) return;
    Members kept;
    for (size_t i = 0; i < members.size(); ++i) {
      if (!drop[i]) kept.push_back(std::move(members[i]));
    }
    members.swap(kept);
  }

  Json root_;
  std::vector<Json*> stack_;
  Json* slot_ = nullptr;
  bool too_deep_ = false;
  size_t error_offset_ = 0;
  std::string error_;
};

const Json* find_field(const Json& object, std::string_view key, const std::string& source) {
  require_data(
      object.is_object(),
      "{}: expected an object with field \"{}\", found {}",
      source,
      key,
      describe(object)
  );
  // ordered_map has no heterogeneous lookup.
  for (const auto& [name, value] : *object.get_ptr<const Json::object_t*>()) {
    if (name == key) return value.is_null() ? nullptr : &value;
  }
  return nullptr;
}

const Json& need_field(const Json& object, std::string_view key, const std::string& source) {
  const Json* value = find_field(object, key, source);
  require_data(value != nullptr, "{}: field \"{}\" is missing or null", source, key);
  return *value;
}

[[noreturn]] void wrong_type(
    const Json& value, std::string_view key, const std::string& source, const char* expected
) {
  throw DataError(
      fmt::format("{}: field \"{}\": expected {}, found {}", source, key, expected, describe(value))
  );
}

int64_t as_int(const Json& value, std::string_view key, const std::string& source) {
  if (value.is_number_unsigned()) {
    const auto number = value.get<uint64_t>();
    if (number <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
      return static_cast<int64_t>(number);
    }
  } else if (value.is_number_integer()) {
    return value.get<int64_t>();
  } else if (value.is_number_float()) {
    // 4096.0 is an integer to every reader that matters; beyond 2^53 doubles skip integers.
    const auto number = value.get<double>();
    if (std::floor(number) == number && std::abs(number) <= 0x1p53) {
      return static_cast<int64_t>(number);
    }
  }
  wrong_type(value, key, source, "an integer (64 bits)");
}

double as_number(const Json& value, std::string_view key, const std::string& source) {
  if (!value.is_number()) wrong_type(value, key, source, "a number");
  return value.get<double>();
}

bool as_bool(const Json& value, std::string_view key, const std::string& source) {
  if (!value.is_boolean()) wrong_type(value, key, source, "true or false");
  return value.get<bool>();
}

std::string as_string(const Json& value, std::string_view key, const std::string& source) {
  if (!value.is_string()) wrong_type(value, key, source, "a string");
  return value.get<std::string>();
}

}  // namespace

Json parse_json(std::string_view text, const std::string& source) {
  Builder builder;
  if (!Json::sax_parse(text.begin(), text.end(), &builder)) {
    require_data(
        !builder.too_deep(), "{}: JSON is nested deeper than {} levels", source, kMaxDepth
    );
    throw DataError(fmt::format(
        "{}: invalid JSON at byte {} of {}: {}",
        source,
        builder.error_offset(),
        text.size(),
        builder.error()
    ));
  }
  return builder.take();
}

Json read_json_file(const std::filesystem::path& path) {
  return parse_json(read_text_file(path), path.string());
}

std::vector<Json> read_jsonl_file(const std::filesystem::path& path) {
  const std::string text = read_text_file(path);
  std::vector<Json> documents;
  size_t line = 0;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    ++line;
    const std::string_view row(text.data() + begin, end - begin);
    if (row.find_first_not_of(" \t\r") != std::string_view::npos) {
      documents.push_back(parse_json(row, fmt::format("{}, line {}", path.string(), line)));
    }
    begin = end + 1;
  }
  return documents;
}

void write_json_file(const std::filesystem::path& path, const Json& document) {
  write_text_file(path, document.dump(2, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string dump_json(const Json& document) {
  return document.dump(-1, ' ', false, Json::error_handler_t::replace);
}

int64_t json_int(const Json& object, std::string_view key, const std::string& source) {
  return as_int(need_field(object, key, source), key, source);
}

double json_number(const Json& object, std::string_view key, const std::string& source) {
  return as_number(need_field(object, key, source), key, source);
}

bool json_bool(const Json& object, std::string_view key, const std::string& source) {
  return as_bool(need_field(object, key, source), key, source);
}

std::string json_string(const Json& object, std::string_view key, const std::string& source) {
  return as_string(need_field(object, key, source), key, source);
}

int64_t json_int_or(
    const Json& o, std::string_view key, int64_t otherwise, const std::string& source
) {
  const Json* value = find_field(o, key, source);
  return value == nullptr ? otherwise : as_int(*value, key, source);
}

double json_number_or(
    const Json& o, std::string_view key, double otherwise, const std::string& source
) {
  const Json* value = find_field(o, key, source);
  return value == nullptr ? otherwise : as_number(*value, key, source);
}

bool json_bool_or(const Json& o, std::string_view key, bool otherwise, const std::string& source) {
  const Json* value = find_field(o, key, source);
  return value == nullptr ? otherwise : as_bool(*value, key, source);
}

std::string json_string_or(
    const Json& o, std::string_view key, const std::string& otherwise, const std::string& source
) {
  const Json* value = find_field(o, key, source);
  return value == nullptr ? otherwise : as_string(*value, key, source);
}

}  // namespace hone
