#include "quant/source.h"

#include <algorithm>
#include <set>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr int64_t kRowAlignment = 128;

}  // namespace

std::vector<std::string> stored_parts(
    const Checkpoint& checkpoint, const Dialect& dialect, const std::string& module
) {
  const QuantizedTensor tensor = dialect.read(checkpoint, module);
  std::vector<std::string> names;
  for (const DialectPart& part :
       dialect.parts({module, tensor.format, tensor.activation, tensor.rows, tensor.cols})) {
    names.push_back(part.spec.name);
  }
  return names;
}

std::vector<SourceTensor> list_source(const Checkpoint& checkpoint, const Dialect* dialect) {
  std::map<std::string, SourceTensor> stored;  // by the tensor that holds the codes
  std::set<std::string> parts;
  if (dialect != nullptr) {
    for (const std::string& module : dialect->modules(checkpoint)) {
      const QuantizedTensor tensor = dialect->read(checkpoint, module);
      const std::vector<std::string> names = stored_parts(checkpoint, *dialect, module);
      parts.insert(names.begin() + 1, names.end());
      stored.emplace(
          names.front(),
          SourceTensor{
              names.front(),
              tensor.codes.type(),
              Shape{tensor.rows, tensor.cols},
              tensor.format,
              tensor.stored_bytes(),
              tensor.activation,
              module}
      );
    }
  }
  std::vector<SourceTensor> tensors;
  for (const std::string& name : checkpoint.names()) {
    if (parts.contains(name)) continue;
    if (const auto it = stored.find(name); it != stored.end()) {
      tensors.push_back(it->second);
      continue;
    }
    const TensorView view = checkpoint.tensor(name);
    tensors.push_back({name, view.type, view.shape, std::nullopt, view.nbytes()});
  }
  return tensors;
}

WeightRows::WeightRows(const Checkpoint& checkpoint, std::string tensor)
    : checkpoint_(checkpoint), tensor_(std::move(tensor)), dense_(checkpoint.tensor(tensor_)) {
  cols_ = dense_.shape.rank() == 0 ? 1 : dense_.shape.dim(-1);
  rows_ = cols_ == 0 ? 0 : dense_.numel() / cols_;
  row_bytes_ = byte_size(dense_.type, {cols_});
}

WeightRows::WeightRows(
    const Checkpoint& checkpoint,
    std::string tensor,
    const Dialect& dialect,
    const std::string& module
)
    : checkpoint_(checkpoint),
      tensor_(std::move(tensor)),
      dense_(checkpoint.tensor(tensor_)),
      quantized_(dialect.read(checkpoint, module)) {
  rows_ = quantized_->rows;
  cols_ = quantized_->cols;
  row_bytes_ = rows_ == 0 ? 0 : dense_.nbytes() / rows_;
}

int64_t WeightRows::slab_rows(int64_t bytes) const {
  const int64_t rows = bytes / std::max<int64_t>(row_bytes_, 1) / kRowAlignment * kRowAlignment;
  return std::max(rows, kRowAlignment);
}

RowSlab WeightRows::slab(int64_t row0, int64_t n, ThreadPool& pool) {
  if (!quantized_) return {dense_.type, dense_.data + row0 * row_bytes_, n, cols_, row0};
  decoded_.resize(static_cast<size_t>(n * cols_));
  pool.parallel_for(n, 16, [&](int64_t begin, int64_t end) {
    dequantize_rows(*quantized_, row0 + begin, end - begin, decoded_.data() + begin * cols_);
  });
  return {DType::kF32, reinterpret_cast<const std::byte*>(decoded_.data()), n, cols_, row0};
}

void WeightRows::prefetch(int64_t row0, int64_t n) const {
  const int64_t count = std::clamp<int64_t>(rows_ - row0, 0, n);
  if (count > 0) checkpoint_.prefetch(tensor_, row0 * row_bytes_, count * row_bytes_);
}

void WeightRows::drop(int64_t row0, int64_t n) const {
  if (n > 0) checkpoint_.drop(tensor_, row0 * row_bytes_, n * row_bytes_);
}

void WeightRows::refuse(const NonFinite& bad) const {
  const int64_t index = bad.row * cols_ + bad.col;
  std::string where;
  int64_t left = index;
  for (int d = dense_.shape.rank(); d-- > 0;) {
    const int64_t size = dense_.shape.dim(d);
    where = std::to_string(left % size) + (where.empty() ? "" : ", ") + where;
    left /= size;
  }
  throw DataError(fmt::format(
      "{}: tensor {} holds {} at [{}] (element {}), expected finite weights; the checkpoint is "
      "damaged: export or download it again",
      (checkpoint_.folder() / checkpoint_.shard_of(tensor_)).string(),
      tensor_,
      bad.value,
      where,
      index
  ));
}

}  // namespace hone
