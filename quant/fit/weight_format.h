// Bytes of weights by format, scales included. Covers formats that engines serve, whether or not
// hone writes them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hone {

struct WeightFormat {
  std::string_view name;  // "fp8-block": the scheme's name where there is one
  int64_t code_bits = 16;
  int64_t block_rows = 0;    // elements of a block that share a scale; 0: all rows
  int64_t block_cols = 0;    // 0: all columns
  int64_t scale_bytes = 0;   // of one block's scale; 0: none
  int64_t scalar_bytes = 0;  // per matrix: global and input scales
  int64_t divisor = 1;       // in_features must be a multiple

  [[nodiscard]] bool four_bits() const { return code_bits == 4; }
  // Of a matrix [rows, cols]; BF16 when the columns are no multiple of `divisor`.
  [[nodiscard]] int64_t bytes(int64_t rows, int64_t cols) const;
};

// In the order in which reports list them; the first is BF16.
std::span<const WeightFormat> weight_formats();
// Throws UsageError listing the known names.
const WeightFormat& weight_format_by_name(std::string_view name);
std::string weight_format_names();

}  // namespace hone
