// The target's hidden states of training rows, computed online and kept while memory allows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/tensor/tensor.h"
#include "runtime/model/model.h"
#include "speculator/data/rows.h"

namespace hone {

// What training needs of one row. Taps are kept as BF16 (the heads' own precision); the same bits
// are used whether they were kept or computed again.
struct RowFeatures {
  std::vector<uint16_t> taps;   // [rows, taps * hidden] BF16 codes, positions 0 .. last start
  std::vector<float> finals;    // [targets, hidden] input of lm_head at TrainingRow::targets()
  std::vector<int32_t> argmax;  // [targets] the target's most probable next token there
  [[nodiscard]] int64_t bytes() const;
};

// lm_head as [vocab, hidden] f32: the module's weight, or the embedding where the two are tied.
Tensor target_lm_head(const Model& target);

// Features of the rows of one data set, by index.
class FeatureStore {
 public:
  // `rows` and `target` must outlive the store. At most `memory_limit` bytes are kept.
  FeatureStore(
      Model& target,
      Tensor lm_head,
      std::vector<int64_t> taps,
      const std::vector<TrainingRow>& rows,
      int64_t memory_limit
  );

  // Features of rows[index] for each index; those that are not kept are computed in passes of at
  // most `kPassTokens` tokens.
  std::vector<std::shared_ptr<const RowFeatures>> get(std::span<const size_t> indices);
  // Computes rows in order until the limit is reached; shows progress.
  void fill();

  [[nodiscard]] int64_t kept_bytes() const { return kept_bytes_; }
  [[nodiscard]] int64_t kept_rows() const { return kept_rows_; }

  static constexpr int64_t kPassTokens = 2048;

 private:
  void compute(
      std::span<const size_t> indices, std::vector<std::shared_ptr<const RowFeatures>>& out
  );
  Model& target_;
  Tensor lm_head_;
  std::vector<int64_t> taps_;
  const std::vector<TrainingRow>& rows_;
  int64_t memory_limit_;
  int64_t kept_bytes_ = 0;
  int64_t kept_rows_ = 0;
  std::vector<std::shared_ptr<const RowFeatures>> kept_;
};

}  // namespace hone
