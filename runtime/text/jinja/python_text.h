// str() and repr() of values, and Python's rules about strings, as far as templates use them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "runtime/text/jinja/value.h"

namespace hone::jinja {

// str(value); marks are kept. Undefined is "".
Text to_text(const Value& value);
// repr(value), appended.
void append_repr(Text& out, const Value& value, int depth = 0);
// repr() of a float: the shortest digits that give it back.
std::string float_repr(double value);
// repr() of a string.
std::string string_repr(std::string_view text);

// White space as str.strip() and str.split() see it.
bool is_python_space(char32_t c);
// int("..") and float(".."): blanks around, underscores between digits, inf and nan.
std::optional<Int> parse_int(std::string_view text, int base = 10);
std::optional<double> parse_float(std::string_view text);

// Byte offset of the character at `index` (counted in characters; the end for a larger index).
size_t character_offset(std::string_view text, size_t index);

}  // namespace hone::jinja
