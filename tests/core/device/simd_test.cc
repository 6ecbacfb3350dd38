#include "core/device/simd.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/device/cpu_isa.h"
#include "tests/core/device/simd_checks.h"

namespace hone {
namespace {

SimdInput random_input(Rng& rng) {
  SimdInput input = {};
  for (int k = 0; k < 16; ++k) {
    // Mostly ordinary numbers; a few zeros and ties for rounding.
    input.a[k] = rng.below(8) == 0 ? 0.5F + static_cast<float>(rng.below(9))
                                   : static_cast<float>(rng.normal() * 9);
    input.b[k] = rng.below(8) == 0 ? input.a[k] : static_cast<float>(rng.normal());
    input.c[k] = static_cast<float>(rng.normal());
    input.i[k] = static_cast<int32_t>(rng.next_u32());
    input.j[k] = rng.below(8) == 0 ? input.i[k] : static_cast<int32_t>(rng.next_u32());
  }
  return input;
}

uint32_t float_bits(float x) {
  return std::bit_cast<uint32_t>(x);
}

using Lane = std::function<uint32_t(const SimdInput&, int)>;

template <typename F>
Lane by_lane(F f) {
  return [f](const SimdInput& in, int k) { return float_bits(f(in.a[k], in.b[k], in.c[k])); };
}
template <typename F>
Lane by_int(F f) {
  return [f](const SimdInput& in, int k) { return static_cast<uint32_t>(f(in.i[k], in.j[k])); };
}
template <typename F>
Lane as_mask(F f) {
  return [f](const SimdInput& in, int) {
    uint32_t mask = 0;
    for (int k = 0; k < 16; ++k) mask |= static_cast<uint32_t>(f(in, k)) << k;
    return mask;
  };
}

// The documented tree: lanes i and i + 8, then i + 4, i + 2, i + 1.
float tree_sum(const float* a) {
  float s[16];
  std::copy(a, a + 16, s);
  for (int half = 8; half >= 1; half /= 2) {
    for (int k = 0; k < half; ++k) s[k] = s[k] + s[k + half];
  }
  return s[0];
}

std::map<std::string, Lane> scalar_versions() {
  using U = uint32_t;
  const auto wrap = [](auto op) {
    return by_int([op](int32_t i, int32_t j) { return op(static_cast<U>(i), static_cast<U>(j)); });
  };
  return {
      {"add", by_lane([](float a, float b, float) { return a + b; })},
      {"sub", by_lane([](float a, float b, float) { return a - b; })},
      {"mul", by_lane([](float a, float b, float) { return a * b; })},
      {"div", by_lane([](float a, float b, float) { return a / b; })},
      {"fma", by_lane([](float a, float b, float c) { return std::fma(a, b, c); })},
      {"fnma", by_lane([](float a, float b, float c) { return std::fma(-a, b, c); })},
      {"max", by_lane([](float a, float b, float) { return a > b ? a : b; })},
      {"min", by_lane([](float a, float b, float) { return a < b ? a : b; })},
      {"sqrt", by_lane([](float a, float, float) { return std::sqrt(std::fabs(a)); })},
      {"abs", by_lane([](float a, float, float) { return std::fabs(a); })},
      {"neg", by_lane([](float a, float, float) { return -a; })},
      {"round_even", by_lane([](float a, float, float) { return std::nearbyint(a); })},
      {"floor", by_lane([](float a, float, float) { return std::floor(a); })},
      {"less", as_mask([](const SimdInput& n, int k) { return n.a[k] < n.b[k]; })},
      {"less_equal", as_mask([](const SimdInput& n, int k) { return n.a[k] <= n.b[k]; })},
      {"equal", as_mask([](const SimdInput& n, int k) { return n.a[k] == n.b[k]; })},
      {"is_nan", as_mask([](const SimdInput& n, int k) { return std::isnan(n.a[k] / n.b[k]); })},
      {"and",
       as_mask([](const SimdInput& n, int k) { return n.a[k] < n.b[k] && n.b[k] < n.c[k]; })},
      {"or", as_mask([](const SimdInput& n, int k) { return n.a[k] < n.b[k] || n.b[k] < n.c[k]; })},
      {"not", as_mask([](const SimdInput& n, int k) { return !(n.a[k] < n.b[k]); })},
      {"select", by_lane([](float a, float b, float c) { return a < b ? a : c; })},
      {"to_i32", [](const SimdInput& n, int k) { return static_cast<U>(std::lrint(n.a[k])); }},
      {"lookup16", [](const SimdInput& n, int k) { return float_bits(n.b[n.i[k] & 15]); }},
      {"gather", [](const SimdInput& n, int k) { return float_bits(n.b[n.i[k] & 15]); }},
      {"halves", [](const SimdInput& n, int k) { return float_bits(n.a[(k + 8) % 16]); }},
      {"hsum", [](const SimdInput& n, int) { return float_bits(tree_sum(n.a)); }},
      {"hmax",
       [](const SimdInput& n, int) { return float_bits(*std::max_element(n.a, n.a + 16)); }},
      {"iadd", wrap([](U i, U j) { return i + j; })},
      {"isub", wrap([](U i, U j) { return i - j; })},
      {"imul", wrap([](U i, U j) { return i * j; })},
      {"iand", wrap([](U i, U j) { return i & j; })},
      {"ior", wrap([](U i, U j) { return i | j; })},
      {"ixor", wrap([](U i, U j) { return i ^ j; })},
      {"imax", by_int([](int32_t i, int32_t j) { return std::max(i, j); })},
      {"imin", by_int([](int32_t i, int32_t j) { return std::min(i, j); })},
      {"shl", wrap([](U i, U) { return i << 5; })},
      {"shr", wrap([](U i, U) { return i >> 5; })},
      {"sar", by_int([](int32_t i, int32_t) { return i >> 5; })},
      {"greater", as_mask([](const SimdInput& n, int k) { return n.i[k] > n.j[k]; })},
      {"iequal", as_mask([](const SimdInput& n, int k) { return n.i[k] == n.j[k]; })},
      {"iselect", by_int([](int32_t i, int32_t j) { return std::max(i, j); })},
      {"to_f32", [](const SimdInput& n, int k) { return float_bits(static_cast<float>(n.i[k])); }},
      {"ihmax",
       [](const SimdInput& n, int) { return static_cast<U>(*std::max_element(n.i, n.i + 16)); }},
      {"pow2",
       [](const SimdInput& n, int k) {
         return float_bits(static_cast<float>(std::ldexp(1.0, (n.i[k] & 127) - 63)));
       }},
      {"u8", by_int([](int32_t i, int32_t) { return i & 255; })},
      {"i8", by_int([](int32_t i, int32_t) { return static_cast<int8_t>(i & 255); })},
      {"u16", by_int([](int32_t i, int32_t) { return i & 65535; })},
  };
}

std::vector<SimdResult> run(CpuIsa isa, const SimdInput& input) {
  std::vector<SimdResult> results(kMaxOperations);
  const auto every = isa == CpuIsa::kAvx2 ? avx2::every_operation : avx512::every_operation;
  results.resize(static_cast<size_t>(every(input, results.data())));
  return results;
}

TEST(Simd, EveryOperationEqualsScalarCodeOnBothIsas) {
  const auto expected = scalar_versions();
  Rng rng(1);
  for (int round = 0; round < 300; ++round) {
    const SimdInput input = random_input(rng);
    for (const CpuIsa isa : {CpuIsa::kAvx2, CpuIsa::kAvx512}) {
      if (!cpu_supports(isa)) continue;
      const std::vector<SimdResult> results = run(isa, input);
      ASSERT_EQ(results.size(), expected.size() + 1);  // "f16" is compared between the ISAs
      for (const SimdResult& result : results) {
        const auto scalar = expected.find(result.name);
        if (scalar == expected.end()) continue;
        for (int k = 0; k < 16; ++k) {
          ASSERT_EQ(result.lanes[k], scalar->second(input, k))
              << result.name << " lane " << k << " " << cpu_isa_name(isa);
        }
      }
    }
  }
}

TEST(Simd, BothIsasAgreeOnNanZerosAndInfinities) {
  if (!cpu_supports(CpuIsa::kAvx512)) GTEST_SKIP() << "this CPU has no AVX-512";
  const float special[] = {
      0.0F,
      -0.0F,
      NAN,
      INFINITY,
      -INFINITY,
      1e-45F,
      -1e-45F,
      65520.0F,
      3.4e38F,
      0.5F,
      -0.5F,
      1.5F,
      2.5F,
      1e-8F,
      1.0F,
      -1.0F};
  for (int shift = 0; shift < 16; ++shift) {
    SimdInput input = {};
    for (int k = 0; k < 16; ++k) {
      input.a[k] = special[k];
      input.b[k] = special[(k + shift) % 16];
      input.c[k] = special[(k + 2 * shift) % 16];
    }
    const auto narrow = run(CpuIsa::kAvx2, input);
    const auto wide = run(CpuIsa::kAvx512, input);
    for (size_t op = 0; op < narrow.size(); ++op) {
      // hmax asks for lanes that are no NaN.
      if (narrow[op].name == std::string("hmax")) continue;
      for (int k = 0; k < 16; ++k) {
        EXPECT_EQ(narrow[op].lanes[k], wide[op].lanes[k]) << narrow[op].name << " lane " << k;
      }
    }
  }
}

TEST(Simd, PartialLoadsAndStoresTouchNothingElse) {
  for (const CpuIsa isa : {CpuIsa::kAvx2, CpuIsa::kAvx512}) {
    if (!cpu_supports(isa)) continue;
    for (int64_t n = 0; n <= 16; ++n) {
      // Exactly n floats on the heap: the address sanitizer sees a read beyond them.
      std::vector<float> src(static_cast<size_t>(n));
      for (int64_t k = 0; k < n; ++k) src[k] = static_cast<float>(10 + k);
      float out[17];
      out[16] = -1.0F;
      (isa == CpuIsa::kAvx2 ? avx2::copy_partial : avx512::copy_partial)(src.data(), n, out);
      for (int64_t k = 0; k < 16; ++k) EXPECT_EQ(out[k], k < n ? static_cast<float>(10 + k) : 1.0F);
      EXPECT_EQ(out[16], -1.0F);
    }
  }
}

}  // namespace
}  // namespace hone
