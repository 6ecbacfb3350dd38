// Codes, scales and scalars as the readers of several dialects take them from disk. Internal to
// core/io.
#pragma once

#include <string>

#include "core/format/quantized_tensor.h"
#include "core/io/checkpoint.h"

namespace hone {

// The tensor under another shape of as many elements; shares the bytes.
Tensor reshaped(const Tensor& tensor, const Shape& shape);

// Codes of rank 2. Throws DataError naming the tensor for another rank or dtype.
Tensor read_codes(const Checkpoint& checkpoint, const std::string& name, DType type);

// Scales as F32: packers store F32, BF16, F16 or the exponent alone (F8_E8M0); all are exact in
// float32. Throws DataError for other dtypes.
Tensor read_float_scales(const Checkpoint& checkpoint, const std::string& name);

// E8M0 scales, which packers call F8_E8M0 or U8, as F8_E8M0.
Tensor read_e8m0_scales(const Checkpoint& checkpoint, const std::string& name);

// One positive finite scalar, F32, BF16 or F16. Throws DataError naming the tensor.
float read_scalar(const Checkpoint& checkpoint, const std::string& name);

// Float scales (kBlockFp8, kFp8Channel) must be positive and finite; 0 only where all codes under
// it are zero too (other encoders store amax / 448). Throws DataError naming the block.
void check_float_scales(const QuantizedTensor& tensor, const std::string& where);

}  // namespace hone
