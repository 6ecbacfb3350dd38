// The k largest entries of each row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hone {

struct TopK {
  int64_t k = 0;
  std::vector<int32_t> ids;   // [rows, k], by descending value; equal values by ascending id
  std::vector<float> values;  // [rows, k]
};

// x: [rows, dim] f32; 1 <= k <= dim (UsageError). NaN throws DataError naming row and column.
TopK top_k(std::span<const float> x, int64_t dim, int64_t k);

}  // namespace hone
