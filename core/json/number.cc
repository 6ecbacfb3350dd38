#include "core/json/number.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace hone {
namespace {

__extension__ using Int128 = __int128;
__extension__ using Uint128 = unsigned __int128;

Int128 integer_of(const Json& value) {
  return value.is_number_unsigned() ? Int128{value.get<uint64_t>()} : Int128{value.get<int64_t>()};
}

std::partial_ordering compare_integer_to_double(Int128 a, double b) {
  if (std::isnan(b)) return std::partial_ordering::unordered;
  // Within these bounds the floor of b fits.
  if (b >= 0x1p65) return std::partial_ordering::less;
  if (b <= -0x1p65) return std::partial_ordering::greater;
  const double floor = std::floor(b);
  const auto whole = static_cast<Int128>(floor);
  if (a != whole) return a < whole ? std::partial_ordering::less : std::partial_ordering::greater;
  return floor < b ? std::partial_ordering::less : std::partial_ordering::equivalent;
}

// |value| = digits * 10^exponent.
struct Decimal {
  uint64_t digits = 0;
  int exponent = 0;
};

Decimal decimal_of(const Json& value) {
  if (!value.is_number_float()) {
    const Int128 integer = integer_of(value);
    return {static_cast<uint64_t>(integer < 0 ? -integer : integer), 0};
  }
  // Shortest round-trip form: d.ddde±xx with at most 17 digits.
  std::array<char, 40> text{};
  const auto end = std::to_chars(
      text.data(), text.data() + text.size(), value.get<double>(), std::chars_format::scientific
  );
  Decimal result;
  const char* at = text.data();
  if (*at == '-') ++at;
  bool fraction = false;
  for (; at != end.ptr && *at != 'e'; ++at) {
    if (*at == '.') {
      fraction = true;
      continue;
    }
    result.digits = result.digits * 10 + static_cast<uint64_t>(*at - '0');
    if (fraction) --result.exponent;
  }
  int exponent = 0;
  ++at;
  if (*at == '+') ++at;
  std::from_chars(at, end.ptr, exponent);
  result.exponent += exponent;
  return result;
}

}  // namespace

std::partial_ordering compare_numbers(const Json& a, const Json& b) {
  if (a.is_number_float() && b.is_number_float()) return a.get<double>() <=> b.get<double>();
  if (b.is_number_float()) return compare_integer_to_double(integer_of(a), b.get<double>());
  if (a.is_number_float()) return 0 <=> compare_integer_to_double(integer_of(b), a.get<double>());
  return integer_of(a) <=> integer_of(b);
}

bool is_integral(const Json& value) {
  if (!value.is_number_float()) return value.is_number();
  const auto number = value.get<double>();
  return std::isfinite(number) && std::floor(number) == number;
}

bool is_multiple_of(const Json& value, const Json& divisor) {
  if (value.is_number_float() && !std::isfinite(value.get<double>())) return false;
  Decimal a = decimal_of(value);
  Decimal b = decimal_of(divisor);
  if (a.digits == 0) return true;
  // Powers of ten out of the divisor's digits, so that what remains on its side is small.
  while (b.digits % 10 == 0) {
    b.digits /= 10;
    ++b.exponent;
  }
  int shift = a.exponent - b.exponent;
  // a.digits * 10^shift must be divisible by b.digits.
  for (; shift < 0; ++shift) {
    if (a.digits % 10 != 0) return false;
    a.digits /= 10;
  }
  uint64_t rest = a.digits % b.digits;
  for (; shift > 0 && rest != 0; --shift) {
    rest = static_cast<uint64_t>(Uint128{rest} * 10 % b.digits);
  }
  return rest == 0;
}

}  // namespace hone
