#include "quant/fit/weight_format.h"

#include "core/base/error.h"

namespace hone {
namespace {

constexpr int64_t kBf16Bits = 16;

// docs/formats.md has the layouts. nvfp4 carries a global and an input scale, both float32.
constexpr WeightFormat kFormats[] = {
    {.name = "bf16"},
    {.name = "fp8-tensor", .code_bits = 8, .scale_bytes = 4, .scalar_bytes = 4},
    {.name = "fp8-channel", .code_bits = 8, .block_rows = 1, .scale_bytes = 4},
    {.name = "fp8-block", .code_bits = 8, .block_rows = 128, .block_cols = 128, .scale_bytes = 4},
    {.name = "mxfp8",
     .code_bits = 8,
     .block_rows = 1,
     .block_cols = 32,
     .scale_bytes = 1,
     .divisor = 32},
    {.name = "nvfp4",
     .code_bits = 4,
     .block_rows = 1,
     .block_cols = 16,
     .scale_bytes = 1,
     .scalar_bytes = 8,
     .divisor = 16},
    {.name = "nvfp4a16",
     .code_bits = 4,
     .block_rows = 1,
     .block_cols = 16,
     .scale_bytes = 1,
     .scalar_bytes = 4,
     .divisor = 16},
    {.name = "mxfp4",
     .code_bits = 4,
     .block_rows = 1,
     .block_cols = 32,
     .scale_bytes = 1,
     .divisor = 32},
};

// Schemes with the same bytes and other activations.
struct Alias {
  std::string_view name;
  std::string_view same_as;
};
constexpr Alias kAliases[] = {{"fp8-dynamic", "fp8-channel"}, {"mxfp4a16", "mxfp4"}};

int64_t blocks(int64_t n, int64_t block) {
  return block == 0 ? 1 : (n + block - 1) / block;
}

}  // namespace

int64_t WeightFormat::bytes(int64_t rows, int64_t cols) const {
  if (cols % divisor != 0) return rows * cols * kBf16Bits / 8;
  return rows * cols * code_bits / 8 +
         scale_bytes * blocks(rows, block_rows) * blocks(cols, block_cols) + scalar_bytes;
}

std::span<const WeightFormat> weight_formats() {
  return kFormats;
}

std::string weight_format_names() {
  std::string names;
  for (const WeightFormat& format : kFormats) {
    if (!names.empty()) names += ", ";
    names += format.name;
  }
  return names;
}

const WeightFormat& weight_format_by_name(std::string_view name) {
  for (const Alias& alias : kAliases) {
    if (alias.name == name) return weight_format_by_name(alias.same_as);
  }
  for (const WeightFormat& format : kFormats) {
    if (format.name == name) return format;
  }
  throw UsageError(fmt::format("unknown scheme \"{}\"; known: {}", name, weight_format_names()));
}

}  // namespace hone
