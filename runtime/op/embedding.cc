#include "runtime/op/embedding.h"

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/format/load.h"

namespace hone {
namespace {

void check_ids(std::span<const int32_t> ids, int64_t vocab) {
  for (size_t t = 0; t < ids.size(); ++t) {
    require(
        ids[t] >= 0 && ids[t] < vocab,
        "embedding: token id {} at row {} lies outside the vocabulary of {}",
        ids[t],
        t,
        vocab
    );
  }
}

}  // namespace

void embedding(const TensorView& table, std::span<const int32_t> ids, std::span<float> y) {
  require(
      table.shape.rank() == 2,
      "embedding: the table has shape {}, expected rank 2",
      table.shape.str()
  );
  require(
      table.type == DType::kF32 || table.type == DType::kBF16 || table.type == DType::kF16,
      "embedding: the table is {}, expected F32, BF16 or F16",
      dtype_name(table.type)
  );
  const int64_t vocab = table.shape.dim(0);
  const int64_t dim = table.shape.dim(1);
  require(
      y.size() == ids.size() * static_cast<size_t>(dim),
      "embedding: y has {} elements, expected {} x {}",
      y.size(),
      ids.size(),
      dim
  );
  check_ids(ids, vocab);
  const int64_t row_bytes = dim * dtype_bits(table.type) / 8;
  for (size_t t = 0; t < ids.size(); ++t) {
    load_floats(table.type, table.data + ids[t] * row_bytes, dim, y.data() + t * dim);
  }
}

void embedding_backward(
    std::span<const int32_t> ids, std::span<const float> dy, int64_t dim, std::span<float> dtable
) {
  require(
      dim > 0 && dy.size() == ids.size() * static_cast<size_t>(dim),
      "embedding_backward: dy has {} elements, expected {} x {}",
      dy.size(),
      ids.size(),
      dim
  );
  require(
      dtable.size() % static_cast<size_t>(dim) == 0,
      "embedding_backward: the table's gradient has {} elements, not a multiple of {}",
      dtable.size(),
      dim
  );
  check_ids(ids, static_cast<int64_t>(dtable.size()) / dim);
  for (size_t t = 0; t < ids.size(); ++t) {
    const float* source = dy.data() + t * dim;
    float* target = dtable.data() + ids[t] * dim;
    for (int64_t i = 0; i < dim; ++i) target[i] += source[i];
  }
}

}  // namespace hone
