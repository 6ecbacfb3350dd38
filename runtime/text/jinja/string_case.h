// Case and line functions shared by string filters and methods.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/text/jinja/text.h"

namespace hone::jinja {

// `bytes` made from `text` in a way that does not keep positions: all of it counts as the caller's
// data when any of `text` did.
Text recased(const Text& text, std::string bytes);

Text upper_case(const Text& text);
Text lower_case(const Text& text);
Text capitalized(const Text& text);  // first character upper, the rest lower

// & < > " ' as HTML entities; the result is safe.
Text html_escaped(const Text& text);

// Bounds of the lines of str.splitlines(), without their ends.
std::vector<std::pair<size_t, size_t>> line_bounds(std::string_view text);

}  // namespace hone::jinja
