#include "core/base/rng.h"

#include <bit>
#include <cmath>

#include "core/base/error.h"

namespace hone {
namespace {

double to_unit(uint64_t bits) {
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

// Natural logarithm of a normal x > 0 to about 1e-15, from +, *, / alone: libm's differs in the
// last bit between versions and CPUs, and initial weights must not.
double portable_log(double x) {
  const auto bits = std::bit_cast<uint64_t>(x);
  auto exponent = static_cast<int>(bits >> 52) - 1022;
  auto mantissa = std::bit_cast<double>((bits & 0x000FFFFFFFFFFFFFULL) | 0x3FE0000000000000ULL);
  constexpr double kSqrtHalf = 0.70710678118654752440;
  if (mantissa < kSqrtHalf) {
    mantissa *= 2;
    --exponent;
  }
  // log m = 2 atanh(s), s = (m - 1) / (m + 1), |s| <= 0.172.
  const double s = (mantissa - 1) / (mantissa + 1);
  const double square = s * s;
  double series = 0;
  for (int k = 21; k >= 1; k -= 2) series = series * square + 1.0 / k;
  constexpr double kLog2 = 0.69314718055994530942;
  return 2 * s * series + exponent * kLog2;
}

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 2> key, std::array<uint32_t, 4> counter) {
  constexpr uint64_t kMultiplier0 = 0xD2511F53;
  constexpr uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr uint32_t kWeyl0 = 0x9E3779B9;
  constexpr uint32_t kWeyl1 = 0xBB67AE85;
  for (int round = 0; round < 10; ++round) {
    const uint64_t product0 = kMultiplier0 * counter[0];
    const uint64_t product1 = kMultiplier1 * counter[2];
    counter = {
        static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0],
        static_cast<uint32_t>(product1),
        static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1],
        static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

namespace {

// The last counter word separates keyed draws (0) from sequences (1).
std::array<uint32_t, 4> block(uint64_t seed, uint32_t stream, uint64_t position, uint32_t domain) {
  return philox4x32(
      {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
      {static_cast<uint32_t>(position), static_cast<uint32_t>(position >> 32), stream, domain}
  );
}

uint64_t join(uint32_t low, uint32_t high) {
  return uint64_t{high} << 32 | low;
}

}  // namespace

double uniform(uint64_t seed, uint32_t stream, uint64_t position) {
  const auto bits = block(seed, stream, position, 0);
  return to_unit(join(bits[0], bits[1]));
}

uint32_t Rng::next_u32() {
  if (used_ == 4) {
    buffer_ = block(seed_, stream_, block_++, 1);
    used_ = 0;
  }
  return buffer_[static_cast<size_t>(used_++)];
}

uint64_t Rng::next_u64() {
  const uint32_t low = next_u32();
  return join(low, next_u32());
}

double Rng::uniform() {
  return to_unit(next_u64());
}

double Rng::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_;
  }
  double u;
  double v;
  double square;
  do {
    u = 2 * uniform() - 1;
    v = 2 * uniform() - 1;
    square = u * u + v * v;
  } while (square >= 1 || square == 0);
  const double factor = std::sqrt(-2 * portable_log(square) / square);
  spare_ = v * factor;
  has_spare_ = true;
  return u * factor;
}

uint64_t Rng::below(uint64_t n) {
  check(n > 0, "Rng::below(0)");
  // Values under 2^64 mod n would make the low results more frequent.
  const uint64_t reject = (0 - n) % n;
  for (;;) {
    const uint64_t bits = next_u64();
    if (bits >= reject) return bits % n;
  }
}

}  // namespace hone
