#include "core/format/load.h"

#include "core/base/error.h"
#include "core/device/cpu_isa.h"
#include "core/format/row_kernels.h"

namespace hone {
namespace {

const LoadKernels& kernels() {
  return by_isa(avx2::kLoadKernels, avx512::kLoadKernels);
}

}  // namespace

void load_floats(DType type, const std::byte* source, int64_t n, float* out) {
  require(
      is_float(type) && type != DType::kF4,
      "{} elements cannot be read as float32; expected a float type of 8 bits or more",
      dtype_name(type)
  );
  kernels().load(type, source, n, out);
}

void store_floats(DType type, const float* source, int64_t n, std::byte* out) {
  const bool known = type == DType::kF32 || type == DType::kBF16 || type == DType::kF16 ||
                     type == DType::kF8E4M3 || type == DType::kF8E5M2;
  require(
      known,
      "float32 cannot be stored as {}; expected F32, BF16, F16, F8_E4M3 or F8_E5M2",
      dtype_name(type)
  );
  kernels().store(type, source, n, out);
}

}  // namespace hone
