// Block FP8 and NVFP4 rows in device memory to float32 or BF16, bit for bit as block_fp8_decode and
// nvfp4_decode give them (BF16: that float32 rounded to nearest even). Only in builds with CUDA.
//
// All pointers are device pointers without alignment needs beyond their type; out: [rows, cols].
// Asynchronous on `stream`. Throws DeviceError when the launch fails, UsageError for another out
// type or columns that NVFP4 cannot have.
#pragma once

#include "core/device/cuda.h"
#include "core/format/block_fp8.h"
#include "core/format/nvfp4.h"
#include "core/tensor/dtype.h"

namespace hone {

void cuda_block_fp8_decode(
    const BlockFp8Rows& source, DType out_type, void* out, const CudaStream& stream
);
void cuda_nvfp4_decode(
    const Nvfp4Rows& source, DType out_type, void* out, const CudaStream& stream
);

}  // namespace hone
