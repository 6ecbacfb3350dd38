// Activations rounded as a low-precision kernel would see them, staying in float32.
//
// Rows and groups are independent of each other, so results depend on neither batch nor threads.
// Single-threaded and vectorized; NaN in a group makes the whole group NaN.
#pragma once

#include <cstdint>

#include "core/format/quantized_tensor.h"

namespace hone {

// The inference kernels of DeepSeek (and DeepGEMM) raise amax to this.
inline constexpr float kFp8ActivationFloor = 1e-4F;

struct Fp8ActivationRule {
  float amax_floor = kFp8ActivationFloor;
  bool power_of_two = false;  // scales rounded up to a power of two (UE8M0, Blackwell)
};

// For each row and each group of 128 columns (the last may be shorter):
//   s = max(amax, floor) / 448, or the smallest power of two >= that
//   x = e4m3(x / s) * s
// x: [rows, cols] f32, in place. Source: DeepSeek-V3 inference/kernel.py act_quant.
void round_fp8_activations(float* x, int64_t rows, int64_t cols, const Fp8ActivationRule& rule);

// vLLM raises the scale of a token to this.
inline constexpr float kFp8TokenScaleFloor = 1.0F / (448.0F * 512.0F);

// For each row: s = max(amax / 448, floor); x = e4m3(x / s) * s
// x: [rows, cols] f32, in place. Source: vLLM dynamic_per_token_scaled_fp8_quant.
void round_fp8_token_activations(float* x, int64_t rows, int64_t cols);

// x = e4m3(x / s) * s, values beyond 448 s clamped. x: [n] f32, in place. UsageError unless s (the
// calibrated input scale, act_amax / 448) is positive and finite.
void round_fp8_tensor_activations(float* x, int64_t n, float s);

// For each row and each block of 32 columns: the scale by MxScaleRule::kCeil (core/format/mx.h),
// values rounded to E2M1 or E4M3 under it. x: [rows, cols] f32, in place. format: kMxfp4 or kMxfp8.
// UsageError for another format or cols not divisible by 32. Source: FlashInfer mxfp8_quantize.
void round_mx_activations(float* x, int64_t rows, int64_t cols, Format format);

// For each row and each block of 16 columns, with the calibrated input scale g (a multiplier,
// act_amax / 2688):
//   scale = e4m3((block amax / 6) / g), clamped to 448; may round to 0, then the block becomes 0
//   x = e2m1(x / (e4m3(scale) * g)) * (e4m3(scale) * g)
// x: [rows, cols] f32, in place. UsageError unless cols is a multiple of 16 and g is positive.
void round_nvfp4_activations(float* x, int64_t rows, int64_t cols, float g);

// Same arithmetic, giving codes [rows, cols / 2] and scales [rows, cols / 16] for kernels that
// multiply codes. x is read only.
struct Nvfp4ActivationCodes {
  uint8_t* codes = nullptr;
  uint8_t* scales = nullptr;
};
void encode_nvfp4_activations(
    const float* x, int64_t rows, int64_t cols, float g, const Nvfp4ActivationCodes& out
);

}  // namespace hone
