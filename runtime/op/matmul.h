// y[r, n] = sum_k x[r, k] * w[n, k] for every stored weight format, in one reduction order.
//
// x: [rows, K] f32; w: [N, K] as stored (LinearWeight); y: [rows, N] f32, must not alias x.
//
// Canonical order of one output element (kMatmulLanes = 16, kMatmulBlock = 1024):
//   1. w[n, k] is the float32 number that dequantize_rows() defines (scales applied to the weight,
//      correctly rounded). A quantized matmul is therefore bit for bit the dense f32 matmul of the
//      dequantized weight.
//   2. K is padded with zeros to a multiple of 16 and cut into blocks of 1024.
//   3. In a block, lane l starts at +0 and takes lane = fma(x[r, k], w[n, k], lane) for
//      k = l, l + 16, l + 32, ... ascending.
//   4. Lanes are added as a tree: l with l + 8, then l + 4, l + 2, l + 1.
//   5. y = block 0; y = y + block b for b = 1, 2, ...
// Every kernel (matrix-vector, small batch, prefill; AVX2, AVX-512) obeys it, so results do not
// depend on the number of rows in the call, the tile shape, the thread count or the ISA.
// Accumulation is float32; |error| <= (K / 16 + 4 + K / 1024) * 2^-24 * sum_k |x * w| to first
// order (tests/reference/tolerance.h).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "core/format/quantized_tensor.h"
#include "core/tensor/tensor.h"

namespace hone {

inline constexpr int64_t kMatmulLanes = 16;
inline constexpr int64_t kMatmulBlock = 1024;

// How the weight is stored.
enum class WeightFormat : uint8_t { kF32, kBF16, kF16, kBlockFp8, kNvfp4 };
// "f32", "bf16", "f16", "fp8-block", "nvfp4".
std::string_view weight_format_name(WeightFormat format);

// What a matmul kernel must know of a weight. Activation quantization is not its business: the
// caller has applied the rule to x (runtime/op/activation_quant.h).
struct MatmulDesc {
  WeightFormat format = WeightFormat::kF32;
  int64_t n = 0;  // rows of w = outputs
  int64_t k = 0;  // columns of w = inputs
  bool operator==(const MatmulDesc&) const = default;
};

// A linear layer's weight, kept as stored; decoded in registers. Copies share the bytes.
class LinearWeight {
 public:
  LinearWeight() = default;
  // weight: [N, K] F32, BF16 or F16. UsageError for another dtype or rank.
  static LinearWeight dense(Tensor weight);
  // Any Format of core/format. kBlockFp8 and kNvfp4 stay packed; no kernel reads the others, so
  // they are decoded here to a dense F32 weight: the same results, more memory (stored_bytes says
  // how much). DataError from QuantizedTensor::validate(name). REQUIRES: no NaN codes (model
  // loading refuses them by name; E4M3 NaN would decode as 480) and FP8 block scales below 2^119.
  static LinearWeight quantized(QuantizedTensor weight, std::string_view name);

  [[nodiscard]] const MatmulDesc& desc() const { return desc_; }
  [[nodiscard]] int64_t n() const { return desc_.n; }
  [[nodiscard]] int64_t k() const { return desc_.k; }
  [[nodiscard]] bool empty() const { return desc_.n == 0; }
  [[nodiscard]] int64_t stored_bytes() const;
  // Null when the weight is of the other kind.
  [[nodiscard]] const Tensor* dense_tensor() const { return std::get_if<Tensor>(&weight_); }
  [[nodiscard]] const QuantizedTensor* quantized_tensor() const {
    return std::get_if<QuantizedTensor>(&weight_);
  }
  // Rows [row0, row0 + count) as the float32 numbers that matmul multiplies; out: [count, K].
  void decode_rows(int64_t row0, int64_t count, std::span<float> out) const;

 private:
  MatmulDesc desc_;
  std::variant<Tensor, QuantizedTensor> weight_;
};

// Whether a kernel of this CPU takes the weight (NVFP4 needs K divisible by 16).
[[nodiscard]] bool supports(const MatmulDesc& desc);
// The kernel that matmul() takes for this many rows on this CPU ("nvfp4 matvec avx512"), for logs
// and tests.
[[nodiscard]] std::string_view kernel_name(const MatmulDesc& desc, int64_t rows);

// Computes y for x.size() / K rows. Work is split over ThreadPool::global() along N. UsageError on
// sizes that do not fit or an unsupported weight. rows == 0 does nothing.
void matmul(const LinearWeight& weight, std::span<const float> x, std::span<float> y);

}  // namespace hone
