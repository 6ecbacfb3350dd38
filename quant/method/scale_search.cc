#include "quant/method/scale_search.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/base/error.h"
#include "core/device/cpu_isa.h"
#include "core/device/host_device.h"
#include "core/format/block_fp8.h"
#include "core/format/e8m0.h"
#include "core/format/mx.h"
#include "core/format/nvfp4.h"
#include "quant/method/search_kernels.h"

namespace hone {
namespace {

constexpr int64_t kLanes = 16;  // blocks that the NVFP4 kernels take together
// Rows are handed out in pieces of about this many elements.
constexpr int64_t kPiece = 1 << 15;
constexpr double kLeastWeight = 1e-4;

const SearchKernels& kernels() {
  return by_isa(avx2::kSearchKernels, avx512::kSearchKernels);
}

int64_t grain(int64_t cols) {
  return std::max<int64_t>(1, kPiece / std::max<int64_t>(1, cols));
}

// Weights as the NVFP4 kernels read them: for each sixteen blocks element 0 of all of them, then
// element 1, ...
std::vector<float> transposed_weights(std::span<const float> weights) {
  if (weights.empty()) return {};
  const auto blocks = static_cast<int64_t>(weights.size()) / kNvfp4Block;
  const int64_t chunks = (blocks + kLanes - 1) / kLanes;
  std::vector<float> out(static_cast<size_t>(chunks * kLanes * kNvfp4Block), 1.0F);
  for (int64_t b = 0; b < blocks; ++b) {
    for (int64_t e = 0; e < kNvfp4Block; ++e) {
      const int64_t at = b / kLanes * kLanes * kNvfp4Block + e * kLanes + b % kLanes;
      out[static_cast<size_t>(at)] = weights[static_cast<size_t>(b * kNvfp4Block + e)];
    }
  }
  return out;
}

void check_options(const RowSlab& slab, const SearchOptions& options) {
  require(options.choice != ScaleChoice::kAmax, "amax scales are not searched");
  const std::string_view reason = refuses(options.choice, options.format);
  require(reason.empty(), "scale {}: {}", scale_choice_name(options.choice), reason);
  require(
      options.weights.empty() || static_cast<int64_t>(options.weights.size()) == slab.cols,
      "{} column weights for {} columns",
      options.weights.size(),
      slab.cols
  );
  const int64_t multiple = format_layout(options.format, 0, 0).column_multiple;
  require(
      slab.cols % multiple == 0,
      "{} needs a number of columns divisible by {}, found {}; leave this tensor unquantized",
      format_name(options.format),
      multiple,
      slab.cols
  );
}

// Chooses the scales of row r and returns its error.
double search_row(
    const RowSlab& slab,
    const SearchOptions& options,
    const std::vector<float>& weights,
    int64_t r,
    uint8_t* scales
) {
  const Nvfp4SearchRow row{
      slab.type,
      slab.row(r),
      slab.cols,
      options.global_scale,
      weights.empty() ? nullptr : weights.data(),
      scales};
  return options.choice == ScaleChoice::kMse ? kernels().nvfp4_best(row)
                                             : kernels().nvfp4_four_over_six(row);
}

void encode_nvfp4(
    const RowSlab& slab,
    const SearchOptions& options,
    uint8_t* codes,
    uint8_t* scales,
    ThreadPool& pool
) {
  const std::vector<float> weights = transposed_weights(options.weights);
  const int64_t width = slab.cols / kNvfp4Block;
  pool.parallel_for(slab.rows, grain(slab.cols), [&](int64_t begin, int64_t end) {
    for (int64_t r = begin; r < end; ++r) {
      (void)search_row(slab, options, weights, r, scales + r * width);
    }
  });
  nvfp4_encode_with_scales(slab, options.global_scale, scales, codes, pool);
}

// ---- block FP8 and MX: few candidates for each block, tried one after the other

// `rows` runs of n elements, one slab row apart, that share a scale.
struct Block {
  const std::byte* data = nullptr;
  int64_t rows = 0;
  int64_t n = 0;
  const float* weights = nullptr;  // [n], or null
};

template <typename Error>
double block_error(const RowSlab& slab, const Block& block, float scale, Error error) {
  double sum = 0;
  for (int64_t r = 0; r < block.rows; ++r) {
    sum += error(slab.type, block.data + r * slab.row_bytes(), block.n, scale, block.weights);
  }
  return sum;
}

// The candidate of least error, the first of equals.
template <typename Error>
float best_scale(
    const RowSlab& slab, const Block& block, std::span<const float> candidates, Error error
) {
  float best = candidates.front();
  double least = INFINITY;
  for (const float scale : candidates) {
    const double found = block_error(slab, block, scale, error);
    if (found < least) {
      least = found;
      best = scale;
    }
  }
  return best;
}

std::vector<float> fp8_candidates(float scale, ScaleKind kind) {
  std::vector<float> candidates{scale};
  const auto add = [&](float factor) {
    const float other = scale * factor;
    if (std::isnormal(other)) candidates.push_back(other);
  };
  if (kind == ScaleKind::kUe8m0) {
    for (const float factor : {0.5F, 2.0F}) add(factor);
  } else {
    for (int sixteenths = 14; sixteenths < 32; ++sixteenths) {
      if (sixteenths != 16) add(static_cast<float>(sixteenths) / 16.0F);
    }
  }
  return candidates;
}

std::optional<NonFinite> encode_block_fp8(
    const RowSlab& slab,
    const SearchOptions& options,
    uint8_t* codes,
    float* scales,
    ThreadPool& pool
) {
  BlockFp8Rule rule;
  if (options.scale_kind == ScaleKind::kUe8m0) rule.scale = Fp8Scale::kPowerOfTwo;
  // The amax rule's scales first: they are where the search starts.
  if (const auto bad = block_fp8_encode(slab, rule, codes, scales, pool)) return bad;
  const int64_t across = fp8_blocks(slab.cols);
  const int64_t size = dtype_bits(slab.type) / 8;
  const auto error = kernels().fp8_error;
  pool.parallel_for(fp8_blocks(slab.rows) * across, 1, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t row = b / across * kFp8Block;
      const int64_t col = b % across * kFp8Block;
      const Block block{
          slab.row(row) + col * size,
          std::min(kFp8Block, slab.rows - row),
          std::min(kFp8Block, slab.cols - col),
          options.weights.empty() ? nullptr : options.weights.data() + col};
      scales[b] = best_scale(slab, block, fp8_candidates(scales[b], options.scale_kind), error);
    }
  });
  block_fp8_encode_with_scales(slab, scales, codes, pool);
  return std::nullopt;
}

std::optional<NonFinite> encode_mx(
    const RowSlab& slab,
    const SearchOptions& options,
    uint8_t* codes,
    uint8_t* scales,
    ThreadPool& pool
) {
  const MxTarget target{options.format, MxScaleRule::kCeil, codes, scales};
  if (const auto bad = mx_encode(slab, target, pool)) return bad;
  const int64_t width = slab.cols / kMxBlock;
  const int64_t size = dtype_bits(slab.type) / 8;
  const auto error = options.format == Format::kMxfp4 ? kernels().fp4_error : kernels().fp8_error;
  pool.parallel_for(slab.rows, grain(slab.cols), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin * width; b < end * width; ++b) {
      const int64_t col = b % width * kMxBlock;
      const float* weights = options.weights.empty() ? nullptr : options.weights.data() + col;
      const Block block{slab.row(b / width) + col * size, 1, kMxBlock, weights};
      std::array<float, 3> candidates{};
      for (int k = 0; k < 3; ++k) {
        candidates[static_cast<size_t>(k)] =
            e8m0_decode(static_cast<uint8_t>(std::max(scales[b] - k, 0)));
      }
      scales[b] = e8m0_encode_floor(best_scale(slab, block, candidates, error));
    }
  });
  mx_encode_with_scales(slab, target, pool);
  return std::nullopt;
}

}  // namespace

std::string_view scale_choice_name(ScaleChoice choice) {
  switch (choice) {
    case ScaleChoice::kAmax:
      return "amax";
    case ScaleChoice::kMse:
      return "mse";
    case ScaleChoice::kFourOverSix:
      return "4over6";
  }
  throw InternalError("unknown scale choice");
}

ScaleChoice parse_scale_choice(std::string_view name) {
  for (const ScaleChoice choice :
       {ScaleChoice::kAmax, ScaleChoice::kMse, ScaleChoice::kFourOverSix}) {
    if (scale_choice_name(choice) == name) return choice;
  }
  throw UsageError(fmt::format("unknown scale \"{}\"; known: amax, mse, 4over6", name));
}

std::string_view refuses(ScaleChoice choice, Format format) {
  if (choice == ScaleChoice::kAmax) return "";
  if (choice == ScaleChoice::kFourOverSix)
    return format == Format::kNvfp4 ? "" : "Four-Over-Six is a choice of NVFP4 scales only";
  if (format == Format::kFp8Channel || format == Format::kFp8Tensor)
    return "FP8 scales of channels and tensors are not searched; use amax";
  return "";
}

std::vector<float> column_weights(std::span<const double> input_mean_square) {
  double sum = 0;
  for (const double value : input_mean_square) sum += value;
  if (sum == 0) return {};
  const double mean = sum / static_cast<double>(input_mean_square.size());
  std::vector<float> weights;
  weights.reserve(input_mean_square.size());
  for (const double value : input_mean_square) {
    weights.push_back(static_cast<float>(std::max(value / mean, kLeastWeight)));
  }
  return weights;
}

std::optional<NonFinite> search_encode(
    const RowSlab& slab,
    const SearchOptions& options,
    std::byte* codes,
    std::byte* block_scales,
    ThreadPool& pool
) {
  check_options(slab, options);
  auto* code_bytes = reinterpret_cast<uint8_t*>(codes);
  auto* scale_bytes = reinterpret_cast<uint8_t*>(block_scales);
  if (options.format == Format::kNvfp4) {
    encode_nvfp4(slab, options, code_bytes, scale_bytes, pool);
    return std::nullopt;
  }
  if (options.format == Format::kBlockFp8)
    return encode_block_fp8(slab, options, code_bytes, reinterpret_cast<float*>(scale_bytes), pool);
  return encode_mx(slab, options, code_bytes, scale_bytes, pool);
}

std::vector<float> global_scale_candidates(Format format, ScaleChoice choice, float amax) {
  if (choice == ScaleChoice::kFourOverSix)
    return {nvfp4_global_scale(amax, kNvfp4FourOverSixRange)};
  std::vector<float> scales{nvfp4_global_scale(amax)};
  if (format != Format::kNvfp4 || choice == ScaleChoice::kAmax || amax == 0.0F) return scales;
  for (float code = 416.0F; code >= 256.0F; code -= 32.0F) {
    scales.push_back(nvfp4_global_scale(amax, 6.0F * code));
  }
  return scales;
}

void add_search_error(
    const RowSlab& slab,
    const SearchOptions& options,
    int64_t row_step,
    ThreadPool& pool,
    double& sum
) {
  check_options(slab, options);
  require(options.format == Format::kNvfp4, "only NVFP4 compares global scales");
  require(row_step > 0, "a row step of {}", row_step);
  const std::vector<float> weights = transposed_weights(options.weights);
  std::vector<double> errors(static_cast<size_t>(slab.rows), 0.0);
  pool.parallel_for(slab.rows, grain(slab.cols), [&](int64_t begin, int64_t end) {
    std::vector<uint8_t> scales(static_cast<size_t>(slab.cols / kNvfp4Block));
    for (int64_t r = begin; r < end; ++r) {
      if ((slab.row0 + r) % row_step != 0) continue;
      errors[static_cast<size_t>(r)] = search_row(slab, options, weights, r, scales.data());
    }
  });
  for (const double error : errors) sum += error;
}

}  // namespace hone
