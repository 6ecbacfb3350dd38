#include "quant/method/scale_search.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/rng.h"
#include "core/format/block_fp8.h"
#include "core/format/e8m0.h"
#include "core/format/nvfp4.h"
#include "quant/method/rtn.h"
#include "tests/core/format/isa_param.h"
#include "tests/core/format/matrix_data.h"
#include "tests/reference/scale_search.h"

namespace hone {
namespace {

using testing::HasSubstr;

// The search adds up float32 numbers; its choice may miss the least error by this much.
constexpr double kSlack = 1e-5;

class ScaleSearch : public IsaTest {
 protected:
  struct Encoded {
    std::vector<uint8_t> codes;
    std::vector<uint8_t> scales;
  };

  Encoded encode(const Tensor& matrix, const SearchOptions& options) {
    const int64_t rows = matrix.shape().dim(0);
    const EncodedSize size = encoded_size(options.format, rows, matrix.shape().dim(1));
    Encoded out;
    out.codes.resize(static_cast<size_t>(size.codes));
    out.scales.resize(static_cast<size_t>(size.block_scales));
    EXPECT_FALSE(search_encode(
        RowSlab::of(matrix.view()),
        options,
        reinterpret_cast<std::byte*>(out.codes.data()),
        reinterpret_cast<std::byte*>(out.scales.data()),
        pool_
    ));
    return out;
  }

  float global_scale(const Tensor& matrix) {
    return nvfp4_global_scale(slab_amax(RowSlab::of(matrix.view()), pool_).amax);
  }

  ThreadPool pool_{2};
};

std::vector<float> some_weights(int64_t cols, uint64_t seed) {
  Rng rng(seed);
  std::vector<float> weights(static_cast<size_t>(cols));
  for (float& w : weights) w = static_cast<float>(std::exp2(6 * rng.normal()));
  return weights;
}

std::span<const double> block_of(const std::vector<double>& values, size_t block, size_t size) {
  return std::span(values).subspan(block * size, size);
}

// The weights of the columns of a block.
std::vector<double> weights_of(const std::vector<float>& weights, size_t block, size_t size) {
  if (weights.empty()) return {};
  const size_t begin = block * size % weights.size();
  return {weights.begin() + begin, weights.begin() + begin + size};
}

TEST_P(ScaleSearch, Nvfp4FindsTheLeastErrorOfAllCodes) {
  for (const bool weighted : {false, true}) {
    for (const auto& [rows, cols] : {std::pair(1, 16), {5, 272}, {30, 512}}) {
      const Tensor matrix = random_matrix(DType::kBF16, rows, cols, 51);
      const auto weights = weighted ? some_weights(cols, 52) : std::vector<float>();
      SearchOptions options;
      options.global_scale = global_scale(matrix);
      options.weights = weights;
      const Encoded got = encode(matrix, options);
      const auto exact = exact_values(matrix).values;
      int64_t same = 0;
      for (size_t b = 0; b < got.scales.size(); ++b) {
        const auto x = block_of(exact, b, 16);
        const auto w = weights_of(weights, b, 16);
        const auto best = reference::nvfp4_best(x, w, options.global_scale);
        const float step = reference::nvfp4_step(got.scales[b], options.global_scale);
        ASSERT_LE(reference::fp4_error(x, w, step), best.error * (1 + kSlack) + 1e-300) << b;
        same += got.scales[b] == best.code ? 1 : 0;
      }
      // Where they differ the errors are equal.
      EXPECT_GE(same, static_cast<int64_t>(got.scales.size()) * 9 / 10);
    }
  }
}

TEST_P(ScaleSearch, Nvfp4SearchesSmallAndSaturatedBlocksToo) {
  // Under these global scales the amax rule gives codes from 1 to far beyond 126.
  const Tensor matrix = random_matrix(DType::kF32, 8, 512, 53);
  const auto exact = exact_values(matrix).values;
  for (const float g : {1e-6F, 1e-3F, 0.1F, 3.0F, 60.0F}) {
    SearchOptions options;
    options.global_scale = g;
    const Encoded got = encode(matrix, options);
    for (size_t b = 0; b < got.scales.size(); ++b) {
      const auto x = block_of(exact, b, 16);
      const auto best = reference::nvfp4_best(x, {}, g);
      const float step = reference::nvfp4_step(got.scales[b], g);
      ASSERT_LE(reference::fp4_error(x, {}, step), best.error * (1 + kSlack)) << b << " g " << g;
    }
  }
}

TEST_P(ScaleSearch, Nvfp4CodesBelongToTheChosenScales) {
  const Tensor matrix = random_matrix(DType::kF16, 7, 304, 54);
  SearchOptions options;
  options.global_scale = global_scale(matrix);
  for (const ScaleChoice choice : {ScaleChoice::kMse, ScaleChoice::kFourOverSix}) {
    options.choice = choice;
    const Encoded got = encode(matrix, options);
    const auto exact = exact_values(matrix).values;
    for (size_t i = 0; i < exact.size(); ++i) {
      const float step = reference::nvfp4_step(got.scales[i / 16], options.global_scale);
      const auto scaled = static_cast<float>(exact[i] / static_cast<double>(step));
      ASSERT_EQ(got.codes[i / 2] >> (i % 2 * 4) & 15, reference::e2m1_code(scaled)) << i;
    }
  }
}

TEST_P(ScaleSearch, FourOverSixTakesTheBetterOfTwo) {
  for (const bool weighted : {false, true}) {
    const Tensor matrix = random_matrix(DType::kBF16, 9, 528, 55);
    const auto weights = weighted ? some_weights(528, 56) : std::vector<float>();
    SearchOptions options;
    options.choice = ScaleChoice::kFourOverSix;
    options.weights = weights;
    const float amax = slab_amax(RowSlab::of(matrix.view()), pool_).amax;
    options.global_scale =
        global_scale_candidates(Format::kNvfp4, ScaleChoice::kFourOverSix, amax).front();
    EXPECT_FLOAT_EQ(options.global_scale, amax / 1536.0F);
    const Encoded got = encode(matrix, options);
    const auto exact = exact_values(matrix).values;
    int64_t fours = 0;
    for (size_t b = 0; b < got.scales.size(); ++b) {
      const auto x = block_of(exact, b, 16);
      const auto w = weights_of(weights, b, 16);
      double largest = 0;
      for (const double v : x) largest = std::max(largest, std::fabs(v));
      const auto code_for = [&](double target) {
        const auto ratio = static_cast<float>(
            static_cast<double>(static_cast<float>(largest / target)) / options.global_scale
        );
        return reference::e4m3_code(std::max(static_cast<double>(ratio), std::ldexp(1.0, -9)));
      };
      const int six = code_for(6.0);
      const int four = code_for(4.0);
      ASSERT_TRUE(got.scales[b] == six || got.scales[b] == four) << b;
      const double error_six =
          reference::fp4_error(x, w, reference::nvfp4_step(six, options.global_scale));
      const double error_four =
          reference::fp4_error(x, w, reference::nvfp4_step(four, options.global_scale));
      const double least = std::min(error_six, error_four);
      const double chosen = got.scales[b] == six ? error_six : error_four;
      ASSERT_LE(chosen, least * (1 + kSlack)) << b;
      fours += got.scales[b] == four && four != six ? 1 : 0;
    }
    EXPECT_GT(fours, 10);
  }
}

TEST_P(ScaleSearch, ZeroBlocksKeepScaleOne) {
  const Tensor matrix(DType::kF32, {2, 64});
  for (const ScaleChoice choice : {ScaleChoice::kMse, ScaleChoice::kFourOverSix}) {
    SearchOptions options;
    options.choice = choice;
    const Encoded got = encode(matrix, options);
    EXPECT_EQ(got.scales, std::vector<uint8_t>(8, 0x38));
    EXPECT_EQ(got.codes, std::vector<uint8_t>(64, 0));
  }
}

TEST_P(ScaleSearch, ErrorSumsAreThoseOfTheDecodedRows) {
  const Tensor matrix = random_matrix(DType::kBF16, 20, 272, 57);
  const auto weights = some_weights(272, 58);
  SearchOptions options;
  options.global_scale = global_scale(matrix);
  options.weights = weights;
  const Encoded got = encode(matrix, options);
  const auto exact = exact_values(matrix).values;
  double expected = 0;
  for (size_t b = 0; b < got.scales.size(); ++b) {
    if (b / 17 % 3 != 0) continue;
    const float step = reference::nvfp4_step(got.scales[b], options.global_scale);
    expected += reference::fp4_error(block_of(exact, b, 16), weights_of(weights, b, 16), step);
  }
  double whole = 0;
  add_search_error(RowSlab::of(matrix.view()), options, 3, pool_, whole);
  EXPECT_NEAR(whole, expected, expected * kSlack);
  // Bit for bit the same in slabs.
  double cut = 0;
  for (int64_t row = 0; row < 20; row += 4) {
    add_search_error(RowSlab::of(matrix.view()).slice(row, 4), options, 3, pool_, cut);
  }
  EXPECT_EQ(cut, whole);
}

TEST_P(ScaleSearch, BlockFp8NeverDoesWorseThanTheAmaxRule) {
  for (const ScaleKind kind : {ScaleKind::kF32, ScaleKind::kUe8m0}) {
    const Tensor matrix = random_matrix(DType::kBF16, 150, 200, 59);
    const auto weights = some_weights(200, 60);
    SearchOptions options;
    options.format = Format::kBlockFp8;
    options.scale_kind = kind;
    options.weights = weights;
    const Encoded got = encode(matrix, options);
    std::vector<float> scales(got.scales.size() / 4);
    std::memcpy(scales.data(), got.scales.data(), got.scales.size());
    const auto exact = exact_values(matrix);
    const auto amax_rule = reference::block_fp8(exact, kind == ScaleKind::kUe8m0);
    int changed = 0;
    for (int64_t b = 0; b < 4; ++b) {
      double chosen = 0;
      double before = 0;
      for (int64_t r = b / 2 * 128; r < std::min<int64_t>(150, b / 2 * 128 + 128); ++r) {
        const int64_t col = b % 2 * 128;
        const int64_t n = std::min<int64_t>(128, 200 - col);
        const auto x = std::span(exact.values).subspan(r * 200 + col, n);
        const std::vector<double> w(weights.begin() + col, weights.begin() + col + n);
        chosen += reference::fp8_error(x, w, scales[b]);
        before += reference::fp8_error(x, w, amax_rule.scales[b]);
        for (int64_t i = 0; i < n; ++i) {
          const auto scaled = static_cast<float>(x[i] / static_cast<double>(scales[b]));
          ASSERT_EQ(got.codes[r * 200 + col + i], reference::e4m3_code(scaled));
        }
      }
      EXPECT_LE(chosen, before * (1 + kSlack));
      changed += scales[b] != amax_rule.scales[b] ? 1 : 0;
      if (kind == ScaleKind::kUe8m0) {
        EXPECT_TRUE(is_e8m0(scales[b]));
        EXPECT_TRUE(
            scales[b] == amax_rule.scales[b] || scales[b] == 2 * amax_rule.scales[b] ||
            scales[b] == amax_rule.scales[b] / 2
        );
      }
    }
    EXPECT_GE(changed, kind == ScaleKind::kF32 ? 1 : 0);
  }
}

TEST_P(ScaleSearch, PowerOfTwoBlocksKeepTheirValuesWhenRequantized) {
  // What engines do at load: decode, take the amax rule's power of two, encode again.
  const Tensor matrix = random_matrix(DType::kBF16, 256, 384, 63);
  SearchOptions options;
  options.format = Format::kBlockFp8;
  options.scale_kind = ScaleKind::kUe8m0;
  const Encoded got = encode(matrix, options);
  QuantizedTensor tensor;
  tensor.rows = 256;
  tensor.cols = 384;
  tensor.codes = Tensor(DType::kF8E4M3, {256, 384});
  tensor.block_scales = Tensor(DType::kF32, {2, 3});
  std::memcpy(tensor.codes.bytes(), got.codes.data(), got.codes.size());
  std::memcpy(tensor.block_scales.bytes(), got.scales.data(), got.scales.size());
  Tensor decoded(DType::kF32, {256, 384});
  dequantize_rows(tensor, 0, 256, decoded.as<float>().data());
  const QuantizedTensor again =
      quantize_block_fp8(decoded.view(), {Fp8Scale::kPowerOfTwo, 1e-4F}, "w", pool_);
  Tensor twice(DType::kF32, {256, 384});
  dequantize_rows(again, 0, 256, twice.as<float>().data());
  EXPECT_EQ(bytes_of(twice), bytes_of(decoded));
}

TEST_P(ScaleSearch, MxFindsTheBestOfThreePowers) {
  for (const Format format : {Format::kMxfp4, Format::kMxfp8}) {
    const bool fp4 = format == Format::kMxfp4;
    const Tensor matrix = random_matrix(DType::kBF16, 9, 544, 61);
    SearchOptions options;
    options.format = format;
    const Encoded got = encode(matrix, options);
    const auto exact = exact_values(matrix);
    const auto ceil = reference::mx(exact, fp4, reference::MxRule::kCeil);
    for (size_t b = 0; b < got.scales.size(); ++b) {
      const auto x = block_of(exact.values, b, 32);
      const auto error = [&](int code) {
        const float step = std::ldexp(1.0F, code - 127);
        return fp4 ? reference::fp4_error(x, {}, step) : reference::fp8_error(x, {}, step);
      };
      double least = error(ceil.scales[b]);
      for (int k = 1; k < 3; ++k) least = std::min(least, error(ceil.scales[b] - k));
      ASSERT_LE(error(got.scales[b]), least * (1 + kSlack)) << b;
    }
  }
}

TEST_P(ScaleSearch, GlobalCandidatesSpanAnOctave) {
  const auto six = global_scale_candidates(Format::kNvfp4, ScaleChoice::kMse, 10.0F);
  ASSERT_EQ(six.size(), 7U);
  EXPECT_EQ(six[0], nvfp4_global_scale(10.0F));
  EXPECT_FLOAT_EQ(six[6], 10.0F / 1536.0F);
  EXPECT_TRUE(std::ranges::is_sorted(six));
  EXPECT_EQ(global_scale_candidates(Format::kNvfp4, ScaleChoice::kAmax, 10.0F).size(), 1U);
  EXPECT_EQ(global_scale_candidates(Format::kNvfp4, ScaleChoice::kMse, 0.0F).size(), 1U);
}

TEST_P(ScaleSearch, ColumnWeightsAreRelativeAndNeverZero) {
  const std::vector<double> squares = {0.0, 1.0, 3.0, 0.0};
  EXPECT_EQ(column_weights(squares), (std::vector<float>{1e-4F, 1.0F, 3.0F, 1e-4F}));
  EXPECT_TRUE(column_weights({}).empty());
  EXPECT_TRUE(column_weights(std::vector<double>(3, 0.0)).empty());
}

TEST_P(ScaleSearch, WhatCannotBeSearchedIsRefused) {
  const Tensor matrix(DType::kF32, {2, 64});
  std::vector<std::byte> out(1024);
  const auto complaint = [&](const SearchOptions& options) -> std::string {
    try {
      (void)search_encode(RowSlab::of(matrix.view()), options, out.data(), out.data() + 512, pool_);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  SearchOptions options;
  options.choice = ScaleChoice::kAmax;
  EXPECT_THAT(complaint(options), HasSubstr("amax"));
  options = {.format = Format::kFp8Channel};
  EXPECT_THAT(complaint(options), HasSubstr("not searched"));
  options = {.format = Format::kMxfp4, .choice = ScaleChoice::kFourOverSix};
  EXPECT_THAT(complaint(options), HasSubstr("NVFP4 scales only"));
  const std::vector<float> weights(63, 1.0F);
  options = {.weights = weights};
  EXPECT_THAT(complaint(options), HasSubstr("63 column weights for 64 columns"));
  EXPECT_THROW(parse_scale_choice("best"), UsageError);
  EXPECT_EQ(parse_scale_choice("4over6"), ScaleChoice::kFourOverSix);
}

TEST_P(ScaleSearch, NonFiniteWeightsAreReported) {
  Tensor matrix = random_matrix(DType::kF32, 4, 64, 62);
  matrix.as<float>()[2 * 64 + 5] = NAN;
  std::vector<std::byte> codes(256);
  std::vector<std::byte> scales(64);
  for (const Format format : {Format::kBlockFp8, Format::kMxfp4, Format::kMxfp8}) {
    const auto bad = search_encode(
        RowSlab::of(matrix.view()), {.format = format}, codes.data(), scales.data(), pool_
    );
    ASSERT_TRUE(bad.has_value());
    EXPECT_EQ(bad->row, 2);
    EXPECT_EQ(bad->col, 5);
  }
}

HONE_INSTANTIATE_ISA(ScaleSearch);

}  // namespace
}  // namespace hone
