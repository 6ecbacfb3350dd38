#include "core/format/mx.h"

#include <algorithm>
#include <cmath>

#include "core/device/cpu_isa.h"
#include "core/device/host_device.h"
#include "core/format/non_finite.h"
#include "core/format/row_kernels.h"

namespace hone {
namespace {

const MxKernels& mx_kernels() {
  return by_isa(avx2::kMxKernels, avx512::kMxKernels);
}

void check_args(Format format, int64_t cols) {
  require(
      format == Format::kMxfp4 || format == Format::kMxfp8,
      "{} is no MX format; expected mxfp4 or mxfp8",
      format_name(format)
  );
  require(
      cols % kMxBlock == 0,
      "{} needs a number of columns divisible by {}, found {}; leave this tensor unquantized",
      format_name(format),
      kMxBlock,
      cols
  );
}

int64_t code_bytes(Format format, int64_t elements) {
  return format == Format::kMxfp4 ? elements / 2 : elements;
}

// Runs encode(args of row r, r) over the rows of a slab.
template <typename Body>
void for_rows(const RowSlab& slab, const MxTarget& target, ThreadPool& pool, Body body) {
  check_args(target.format, slab.cols);
  pool.parallel_for(slab.rows, row_grain(slab.cols), [&](int64_t begin, int64_t end) {
    MxRowArgs args{.type = slab.type, .n = slab.cols, .fp4 = target.format == Format::kMxfp4};
    for (int64_t r = begin; r < end; ++r) {
      args.source = slab.row(r);
      args.codes = target.codes + r * code_bytes(target.format, slab.cols);
      args.scales = target.scales + r * (slab.cols / kMxBlock);
      if (!body(args, r)) return;
    }
  });
}

}  // namespace

MxScaleBias mx_scale_bias(Format format, MxScaleRule rule) {
  check_args(format, 0);
  const bool fp4 = format == Format::kMxfp4;
  const int32_t emax = fp4 ? 2 : 8;
  switch (rule) {
    case MxScaleRule::kFloor:
      return {0, emax};
    case MxScaleRule::kRound:
      return {0x200000, emax};
    case MxScaleRule::kCeil:
      // One up above 1.5 (6 = 1.5 * 2^2) or 1.75 (448 = 1.75 * 2^8).
      return {fp4 ? 0x3FFFFF : 0x1FFFFF, emax};
  }
  throw InternalError("unknown MX scale rule");
}

uint8_t mx_block_scale(float amax, Format format, MxScaleRule rule) {
  require(std::isfinite(amax) && amax >= 0.0F, "amax {} is not a finite magnitude", amax);
  if (amax == 0.0F) return kMxZeroBlockScale;
  const MxScaleBias bias = mx_scale_bias(format, rule);
  const int32_t code = (bits_as<int32_t>(amax) + bias.add) / (1 << 23) - bias.emax;
  return static_cast<uint8_t>(std::max(code, 0));
}

std::optional<NonFinite> mx_encode(const RowSlab& slab, const MxTarget& target, ThreadPool& pool) {
  const MxKernels& kernels = mx_kernels();
  const MxScaleBias bias = mx_scale_bias(target.format, target.rule);
  FirstNonFinite bad;
  for_rows(slab, target, pool, [&](MxRowArgs& args, int64_t r) {
    args.add = bias.add;
    args.emax = bias.emax;
    if (kernels.encode(args) < kInfinityBits) return true;
    bad.offer(find_non_finite(slab, r, 0, slab.cols));
    return false;
  });
  return bad.first();
}

void mx_encode_with_scales(const RowSlab& slab, const MxTarget& target, ThreadPool& pool) {
  const MxKernels& kernels = mx_kernels();
  for_rows(slab, target, pool, [&](const MxRowArgs& args, int64_t) {
    kernels.encode_with_scales(args);
    return true;
  });
}

void mx_decode(const MxRows& source, float* out) {
  check_args(source.format, source.cols);
  const MxKernels& kernels = mx_kernels();
  const bool fp4 = source.format == Format::kMxfp4;
  for (int64_t r = 0; r < source.rows; ++r) {
    kernels.decode(
        fp4,
        source.codes + r * code_bytes(source.format, source.cols),
        source.scales + r * (source.cols / kMxBlock),
        source.cols,
        out + r * source.cols
    );
  }
}

QuantizedTensor quantize_mx(
    const TensorView& weight, const MxOptions& options, std::string_view name, ThreadPool& pool
) {
  const RowSlab slab = RowSlab::of(weight);
  check_args(options.format, slab.cols);
  const FormatLayout layout = format_layout(options.format, slab.rows, slab.cols);
  QuantizedTensor result;
  result.format = options.format;
  result.rows = slab.rows;
  result.cols = slab.cols;
  result.codes = Tensor(layout.codes, layout.codes_shape);
  result.block_scales = Tensor(layout.block_scales, layout.block_scales_shape);
  const auto bad = mx_encode(
      slab,
      {options.format,
       options.rule,
       reinterpret_cast<uint8_t*>(result.codes.bytes()),
       reinterpret_cast<uint8_t*>(result.block_scales.bytes())},
      pool
  );
  if (bad) throw_non_finite(name, *bad);
  return result;
}

}  // namespace hone
