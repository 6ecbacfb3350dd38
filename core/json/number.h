// Exact arithmetic on JSON numbers: 64-bit integers and doubles, never rounded to each other.
#pragma once

#include <compare>

#include "core/json/json.h"

namespace hone {

// Order by value (1 equals 1.0; 2^53 + 1 is above 9007199254740992.0). Both must be numbers;
// unordered with NaN.
std::partial_ordering compare_numbers(const Json& a, const Json& b);

// A number without a fractional part, however it is written (1, 1.0, 1e3).
bool is_integral(const Json& value);

// Whether value = k * divisor for an integer k, with both taken as the shortest decimal that reads
// as the stored number: 0.0075 is a multiple of 0.0001, although no double is. divisor > 0.
bool is_multiple_of(const Json& value, const Json& divisor);

}  // namespace hone
