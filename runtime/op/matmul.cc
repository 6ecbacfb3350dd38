#include "runtime/op/matmul.h"

#include <algorithm>
#include <array>
#include <optional>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/device/cpu_isa.h"
#include "core/format/fp4.h"
#include "core/format/fp8.h"
#include "core/format/load.h"
#include "runtime/op/cpu/kernels.h"
#include "runtime/op/cpu/scratch.h"
#include "runtime/op/tiled_gemm.h"

namespace hone {
namespace {

// Multiplications that are worth a thread of their own.
constexpr int64_t kThreadWork = 1 << 16;

thread_local cpu::Scratch t_rows;
thread_local cpu::Scratch t_scales;

WeightFormat dense_format(DType type) {
  switch (type) {
    case DType::kF32:
      return WeightFormat::kF32;
    case DType::kBF16:
      return WeightFormat::kBF16;
    case DType::kF16:
      return WeightFormat::kF16;
    default:
      throw UsageError(
          fmt::format("matmul: a dense weight is {}, expected F32, BF16 or F16", dtype_name(type))
      );
  }
}

// See cpu::MatmulCall::products; rounded as dequantize_rows() does, the scale first.
using Products = std::array<float, 256 * 16>;
void fill_products(const GlobalScale& global, Products& products) {
  for (size_t scale = 0; scale < 256; ++scale) {
    for (size_t code = 0; code < 16; ++code) {
      products[scale * 16 + code] = kE2m1Values[code] * global.applied_to(kE4m3Values[scale]);
    }
  }
}

// nullopt: no kernel reads the format as it is stored.
std::optional<WeightFormat> packed_format(Format format) {
  switch (format) {
    case Format::kBlockFp8:
      return WeightFormat::kBlockFp8;
    case Format::kNvfp4:
      return WeightFormat::kNvfp4;
    default:
      return std::nullopt;
  }
}

const uint8_t* raw(const Tensor& tensor) {
  return reinterpret_cast<const uint8_t*>(tensor.bytes());
}

void run_direct(cpu::MatmulCall call) {
  const cpu::Kernels& kernels = cpu::kernels();
  const int64_t k = call.desc.k;
  const bool reorder = call.desc.format == WeightFormat::kNvfp4 && kernels.order_nvfp4 != nullptr;
  call.x_stride = cpu::packed_stride(k);
  float* packed = t_rows.get(call.rows * call.x_stride);
  for (int64_t r = 0; r < call.rows; ++r) {
    const float* row = call.x + r * k;
    if (reorder) {
      kernels.order_nvfp4(row, k, packed + r * call.x_stride);
    } else {
      std::copy_n(row, k, packed + r * call.x_stride);
    }
  }
  call.x = packed;
  // Ranges start at multiples of four weight rows, the kernels' group.
  const int64_t grain = (kThreadWork / (call.desc.k * call.rows) / 4 + 1) * 4;
  ThreadPool::global().parallel_for(call.desc.n, grain, [&](int64_t n0, int64_t n1) {
    kernels.matmul_direct(call, n0, n1);
  });
}

}  // namespace

std::string_view weight_format_name(WeightFormat format) {
  switch (format) {
    case WeightFormat::kF32:
      return "f32";
    case WeightFormat::kBF16:
      return "bf16";
    case WeightFormat::kF16:
      return "f16";
    case WeightFormat::kBlockFp8:
      return "fp8-block";
    case WeightFormat::kNvfp4:
      return "nvfp4";
  }
  return "?";
}

LinearWeight LinearWeight::dense(Tensor weight) {
  require(
      weight.shape().rank() == 2,
      "matmul: the weight has shape {}, expected [outputs, inputs]",
      weight.shape().str()
  );
  LinearWeight result;
  result.desc_ = {dense_format(weight.type()), weight.shape().dim(0), weight.shape().dim(1)};
  result.weight_ = std::move(weight);
  return result;
}

LinearWeight LinearWeight::quantized(QuantizedTensor weight, std::string_view name) {
  weight.validate(name);
  // A mapping may hold the scales at any address; they are small.
  if (reinterpret_cast<uintptr_t>(weight.block_scales.bytes()) % alignof(float) != 0) {
    weight.block_scales = weight.block_scales.clone();
  }
  const std::optional<WeightFormat> format = packed_format(weight.format);
  if (!format) {
    Tensor decoded(DType::kF32, {weight.rows, weight.cols});
    dequantize_rows(weight, 0, weight.rows, decoded.as<float>().data());
    return dense(std::move(decoded));
  }
  LinearWeight result;
  result.desc_ = {*format, weight.rows, weight.cols};
  result.weight_ = std::move(weight);
  return result;
}

int64_t LinearWeight::stored_bytes() const {
  if (const Tensor* tensor = dense_tensor()) return tensor->empty() ? 0 : tensor->nbytes();
  return quantized_tensor()->stored_bytes();
}

void LinearWeight::decode_rows(int64_t row0, int64_t count, std::span<float> out) const {
  require(
      row0 >= 0 && count >= 0 && row0 + count <= n() &&
          out.size() == static_cast<size_t>(count * k()),
      "decode_rows: rows [{}, {}) of {} into {} floats, expected {}",
      row0,
      row0 + count,
      n(),
      out.size(),
      count * k()
  );
  if (const QuantizedTensor* quantized = quantized_tensor()) {
    dequantize_rows(*quantized, row0, count, out.data());
    return;
  }
  const Tensor& tensor = *dense_tensor();
  const int64_t row_bytes = k() * dtype_bits(tensor.type()) / 8;
  load_floats(tensor.type(), tensor.bytes() + row0 * row_bytes, count * k(), out.data());
}

bool supports(const MatmulDesc& desc) {
  return desc.n > 0 && desc.k > 0 && (desc.format != WeightFormat::kNvfp4 || desc.k % 16 == 0);
}

std::string_view kernel_name(const MatmulDesc& desc, int64_t rows) {
  // By format, then matvec, small batch, tiled, each for AVX2 and AVX-512.
  static constexpr std::array<std::array<std::string_view, 6>, 5> kNames = {
      {{"f32 matvec avx2",
        "f32 matvec avx512",
        "f32 small-batch avx2",
        "f32 small-batch avx512",
        "f32 tiled avx2",
        "f32 tiled avx512"},
       {"bf16 matvec avx2",
        "bf16 matvec avx512",
        "bf16 small-batch avx2",
        "bf16 small-batch avx512",
        "bf16 tiled avx2",
        "bf16 tiled avx512"},
       {"f16 matvec avx2",
        "f16 matvec avx512",
        "f16 small-batch avx2",
        "f16 small-batch avx512",
        "f16 tiled avx2",
        "f16 tiled avx512"},
       {"fp8-block matvec avx2",
        "fp8-block matvec avx512",
        "fp8-block small-batch avx2",
        "fp8-block small-batch avx512",
        "fp8-block tiled avx2",
        "fp8-block tiled avx512"},
       {"nvfp4 matvec avx2",
        "nvfp4 matvec avx512",
        "nvfp4 small-batch avx2",
        "nvfp4 small-batch avx512",
        "nvfp4 tiled avx2",
        "nvfp4 tiled avx512"}}};
  if (!supports(desc)) return "unsupported";
  const size_t variant = rows == 1 ? 0 : rows <= cpu::kDirectRows ? 2 : 4;
  return kNames[static_cast<size_t>(desc.format)][variant + (cpu_isa() == CpuIsa::kAvx512 ? 1 : 0)];
}

void matmul(const LinearWeight& weight, std::span<const float> x, std::span<float> y) {
  const MatmulDesc& desc = weight.desc();
  require(
      supports(desc),
      "matmul: no kernel for a {} weight of {} x {} (NVFP4 needs inputs in groups of 16)",
      weight_format_name(desc.format),
      desc.n,
      desc.k
  );
  const auto rows = static_cast<int64_t>(x.size()) / desc.k;
  require(
      x.size() == static_cast<size_t>(rows * desc.k) &&
          y.size() == static_cast<size_t>(rows * desc.n),
      "matmul: x has {} and y {} elements; a weight of {} x {} needs rows x {} and rows x {}",
      x.size(),
      y.size(),
      desc.n,
      desc.k,
      desc.k,
      desc.n
  );
  if (rows == 0) return;

  alignas(64) Products products;
  cpu::MatmulCall call;
  call.desc = desc;
  if (const QuantizedTensor* quantized = weight.quantized_tensor()) {
    call.codes = raw(quantized->codes);
    if (quantized->format == Format::kNvfp4) {
      fill_products(quantized->global, products);
      call.group_scales = raw(quantized->block_scales);
      call.products = products.data();
    } else {
      const std::span<const float> scales = quantized->block_scales.as<float>();
      float* scaled = t_scales.get(static_cast<int64_t>(scales.size()));
      for (size_t i = 0; i < scales.size(); ++i) scaled[i] = scales[i] * 256.0F;
      call.block_scales_256 = scaled;
    }
  } else {
    call.codes = raw(*weight.dense_tensor());
  }
  if (rows <= cpu::kDirectRows) {
    call.rows = rows;
    call.x = x.data();
    call.y = y.data();
    call.y_stride = desc.n;
    run_direct(call);
  } else {
    TiledGemm gemm;
    gemm.weight = call;
    gemm.rows = rows;
    tiled_gemm(gemm, x.data(), y.data());
  }
}

}  // namespace hone
