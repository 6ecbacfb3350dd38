// JSON in and out of template values.
#pragma once

#include <string>

#include "core/json/json.h"
#include "runtime/text/jinja/value.h"

namespace hone::jinja {

// How json.dumps is asked to write.
struct JsonStyle {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool indented = false;
  std::string indent;  // of one level, when indented
  std::string item_separator = ", ";
  std::string key_separator = ": ";
};

// json.dumps(value), not escaped for HTML: what transformers' tojson writes. Throws Fault for
// values that JSON has no form for.
Text to_json(const Value& value, const JsonStyle& style);

// `input`: strings are marked as the caller's data.
Value from_json(const Json& json, bool input);

}  // namespace hone::jinja
