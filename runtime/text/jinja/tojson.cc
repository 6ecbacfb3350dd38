#include "runtime/text/jinja/tojson.h"

#include <algorithm>
#include <cmath>

#include "runtime/text/jinja/python_text.h"
#include "runtime/text/unicode/utf8.h"

namespace hone::jinja {
namespace {

constexpr int kMaxNesting = 200;

void append_unit(std::string& out, uint32_t unit) {
  out += fmt::format("\\u{:04x}", unit);
}

std::string quoted(std::string_view text, bool ensure_ascii) {
  std::string out = "\"";
  for (size_t at = 0; at < text.size();) {
    const CodePoint c = utf8_decode(text, at);
    switch (c.value) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\f':
        out += "\\f";
        break;
      case '\b':
        out += "\\b";
        break;
      default:
        if (c.value < 0x20) {
          append_unit(out, c.value);
        } else if (c.value < 0x80 || !ensure_ascii) {
          out.append(text, at, c.size);
          if (c.value == 0x7F && ensure_ascii) {
            out.pop_back();
            append_unit(out, 0x7F);
          }
        } else if (c.value < 0x10000) {
          append_unit(out, c.value);
        } else {
          append_unit(out, 0xD800 + ((c.value - 0x10000) >> 10));
          append_unit(out, 0xDC00 + ((c.value - 0x10000) & 0x3FF));
        }
    }
    at += c.size;
  }
  return out + '"';
}

std::string number_text(const Value& value) {
  if (const auto* number = value.get<double>()) {
    if (std::isnan(*number)) return "NaN";
    if (std::isinf(*number)) return *number > 0 ? "Infinity" : "-Infinity";
    return float_repr(*number);
  }
  return fmt::format("{}", value.integer());
}

class Writer {
 public:
  explicit Writer(const JsonStyle& style) : style_(style) {}

  void write(const Value& value, int depth) {
    if (depth > kMaxNesting)
      fail("value nested deeper than {} cannot be written as JSON", kMaxNesting);
    if (const Text* text = value.text()) {
      out.append(quoted(text->bytes, style_.ensure_ascii), text->has_input());
    } else if (value.is_none()) {
      out.append("null");
    } else if (const auto* flag = value.get<bool>()) {
      out.append(*flag ? "true" : "false");
    } else if (value.is_number()) {
      out.append(number_text(value));
    } else if (const Dict* dict = value.dict()) {
      object(*dict, depth);
    } else if (value.list() != nullptr && (value.list()->kind == ListKind::kList || value.list()->kind == ListKind::kTuple)) {
      array(*value.list(), depth);
    } else {
      fail("Object of type {} is not JSON serializable", type_name(value));
    }
  }

  Text out;

 private:
  void line(int depth) {
    if (!style_.indented) return;
    out.append("\n");
    for (int i = 0; i < depth; ++i) out.append(std::string_view(style_.indent));
  }

  void array(const List& list, int depth) {
    if (list.items.empty()) return out.append("[]");
    out.append("[");
    for (size_t i = 0; i < list.items.size(); ++i) {
      if (i > 0) out.append(std::string_view(style_.item_separator));
      line(depth + 1);
      write(list.items[i], depth + 1);
    }
    line(depth);
    out.append("]");
  }

  void key(const Value& value) {
    if (const Text* text = value.text()) {
      out.append(quoted(text->bytes, style_.ensure_ascii), text->has_input());
    } else if (const auto* flag = value.get<bool>()) {
      out.append(*flag ? "\"true\"" : "\"false\"");
    } else if (value.is_none()) {
      out.append("\"null\"");
    } else if (value.is_number()) {
      out.append('"' + number_text(value) + '"');
    } else {
      fail("keys must be str, int, float, bool or None, not {}", type_name(value));
    }
  }

  void object(const Dict& dict, int depth) {
    if (dict.entries().empty()) return out.append("{}");
    std::vector<const Dict::Entry*> entries;
    for (const auto& entry : dict.entries()) entries.push_back(&entry);
    if (style_.sort_keys) {
      std::ranges::stable_sort(entries, [](const Dict::Entry* a, const Dict::Entry* b) {
        return less(a->first, b->first);
      });
    }
    out.append("{");
    for (size_t i = 0; i < entries.size(); ++i) {
      if (i > 0) out.append(std::string_view(style_.item_separator));
      line(depth + 1);
      key(entries[i]->first);
      out.append(std::string_view(style_.key_separator));
      write(entries[i]->second, depth + 1);
    }
    line(depth);
    out.append("}");
  }

  const JsonStyle& style_;
};

Value input_text(const std::string& bytes, bool input) {
  Text text;
  // JSON built in the process may hold anything; templates work on valid text.
  text.append(utf8_valid(bytes) ? bytes : utf8_replace_invalid(bytes), input);
  return Value(std::move(text));
}

}  // namespace

Text to_json(const Value& value, const JsonStyle& style) {
  Writer writer(style);
  writer.write(value, 0);
  return std::move(writer.out);
}

Value from_json(const Json& json, bool input) {
  switch (json.type()) {
    case Json::value_t::boolean:
      return Value(json.get<bool>());
    case Json::value_t::number_integer:
      return Value(json.get<int64_t>());
    case Json::value_t::number_unsigned:
      return Value(static_cast<Int>(json.get<uint64_t>()));
    case Json::value_t::number_float:
      return Value(json.get<double>());
    case Json::value_t::string:
      return input_text(json.get_ref<const std::string&>(), input);
    case Json::value_t::array: {
      std::vector<Value> items;
      for (const Json& item : json) items.push_back(from_json(item, input));
      return Value::list(std::move(items));
    }
    case Json::value_t::object: {
      auto dict = std::make_shared<Dict>();
      for (const auto& [key, item] : json.items()) {
        dict->set(input_text(key, input), from_json(item, input));
      }
      return Value(std::move(dict));
    }
    default:
      return Value(None{});
  }
}

}  // namespace hone::jinja
