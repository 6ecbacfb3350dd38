#include "core/format/cuda/dequantize.h"

#include "core/base/error.h"
#include "core/format/cuda/dequantize_kernels.h"

namespace hone {
namespace {

DecodedType decoded_type(DType type) {
  require(
      type == DType::kF32 || type == DType::kBF16,
      "the device decodes to F32 or BF16, not to {}",
      dtype_name(type)
  );
  return type == DType::kF32 ? DecodedType::kF32 : DecodedType::kBf16;
}

}  // namespace

void cuda_block_fp8_decode(
    const BlockFp8Rows& source, DType out_type, void* out, const CudaStream& stream
) {
  const FlatBlockFp8 flat{source.codes, source.scales, source.row0, source.rows, source.cols};
  launch_block_fp8_decode(flat, decoded_type(out_type), out, stream.handle());
  cuda_check_launch("launch of the block FP8 decoder");
}

void cuda_nvfp4_decode(
    const Nvfp4Rows& source, DType out_type, void* out, const CudaStream& stream
) {
  require(
      source.cols % kNvfp4Block == 0,
      "NVFP4 needs a number of columns divisible by {}, found {}",
      kNvfp4Block,
      source.cols
  );
  const int64_t blocks = source.rows * (source.cols / kNvfp4Block);
  const FlatNvfp4 flat{source.codes, source.scales, source.g, source.divisor, blocks};
  launch_nvfp4_decode(flat, decoded_type(out_type), out, stream.handle());
  cuda_check_launch("launch of the NVFP4 decoder");
}

}  // namespace hone
