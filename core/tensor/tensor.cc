#include "core/tensor/tensor.h"

#include <cstdlib>
#include <cstring>
#include <limits>

#include <fmt/ranges.h>

namespace hone {
namespace {

constexpr size_t kAlignment = 64;

}  // namespace

int64_t Shape::dim(int index) const {
  const int at = index < 0 ? index + rank() : index;
  require(at >= 0 && at < rank(), "dimension {} of a tensor of shape {}", index, str());
  return dims_[static_cast<size_t>(at)];
}

int64_t Shape::numel() const {
  int64_t count = 1;
  bool overflow = false;
  for (const int64_t size : dims_) {
    // str() only on failure: element counts are asked for in hot loops.
    if (size < 0) throw DataError(fmt::format("shape {} has a negative dimension", str()));
    overflow |= __builtin_mul_overflow(count, size, &count);
  }
  // A zero anywhere makes an empty tensor, whatever the other dimensions multiply to.
  for (const int64_t size : dims_) {
    if (size == 0) return 0;
  }
  if (overflow) throw DataError(fmt::format("shape {} has more than 2^63 elements", str()));
  return count;
}

std::string Shape::str() const {
  return fmt::format("[{}]", fmt::join(dims_, ", "));
}

int64_t byte_size(DType type, const Shape& shape) {
  const int64_t count = shape.numel();
  const int bits = dtype_bits(type);
  if (bits < 8) return count / 2 + count % 2;
  if (count > std::numeric_limits<int64_t>::max() / (bits / 8))
    throw DataError(
        fmt::format("{} of shape {} needs more than 2^63 bytes", dtype_name(type), shape.str())
    );
  return count * (bits / 8);
}

Tensor::Tensor(DType type, Shape shape) : type_(type), shape_(std::move(shape)) {
  // An empty tensor still owns memory, so that empty() tells it from "no tensor".
  const auto size = static_cast<size_t>(nbytes());
  require(size <= std::numeric_limits<size_t>::max() / 2, "tensor of {} bytes is too large", size);
  const size_t rounded = (size / kAlignment + 1) * kAlignment;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(kAlignment, rounded));
  if (memory == nullptr) throw std::bad_alloc();
  owner_ =
      std::shared_ptr<const void>(memory, [](const void* p) { std::free(const_cast<void*>(p)); });
  std::memset(memory, 0, rounded);
  data_ = memory;
}

Tensor Tensor::copy_of(const TensorView& view) {
  Tensor copy(view.type, view.shape);
  const auto size = static_cast<size_t>(view.nbytes());
  if (size > 0) std::memcpy(copy.data_, view.data, size);
  return copy;
}

Tensor Tensor::borrow(const TensorView& view, std::shared_ptr<const void> owner) {
  Tensor tensor;
  tensor.type_ = view.type;
  tensor.shape_ = view.shape;
  tensor.owner_ = std::move(owner);
  tensor.data_ = const_cast<std::byte*>(view.data);
  return tensor;
}

}  // namespace hone
