// Shape, TensorView (borrows) and Tensor (owns), all row-major and contiguous.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.h"
#include "core/tensor/dtype.h"

namespace hone {

// Sizes of the dimensions, outermost first. Rank 0 is a scalar with one element.
class Shape {
 public:
  Shape() = default;
  Shape(std::initializer_list<int64_t> dims) : dims_(dims) {}
  explicit Shape(std::vector<int64_t> dims) : dims_(std::move(dims)) {}

  [[nodiscard]] int rank() const { return static_cast<int>(dims_.size()); }
  // Negative indices count from the end. Throws UsageError out of range.
  [[nodiscard]] int64_t dim(int index) const;
  [[nodiscard]] const std::vector<int64_t>& dims() const { return dims_; }
  // Number of elements. Throws DataError when a dimension is negative or the product overflows.
  [[nodiscard]] int64_t numel() const;
  // "[128, 64]"
  [[nodiscard]] std::string str() const;
  bool operator==(const Shape&) const = default;

 private:
  std::vector<int64_t> dims_;
};

// Bytes that hold `shape` of `type`; odd counts of 4-bit elements round up. Overflow: DataError.
int64_t byte_size(DType type, const Shape& shape);

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<double> {
  static constexpr DType value = DType::kF64;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = DType::kF32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = DType::kI64;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = DType::kI32;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = DType::kU8;
};

// A borrowed, read-only tensor. The bytes need no alignment: use load functions of core/format or
// as<T>() (which checks alignment).
struct TensorView {
  DType type = DType::kF32;
  Shape shape;
  const std::byte* data = nullptr;

  [[nodiscard]] int64_t numel() const { return shape.numel(); }
  [[nodiscard]] int64_t nbytes() const { return byte_size(type, shape); }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {data, static_cast<size_t>(nbytes())};
  }
  // Typed elements. Throws InternalError on another dtype or misaligned data.
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    check(type == DTypeOf<T>::value, "tensor holds {}, asked for another type", dtype_name(type));
    check(reinterpret_cast<uintptr_t>(data) % alignof(T) == 0, "tensor data is misaligned");
    return {reinterpret_cast<const T*>(data), static_cast<size_t>(numel())};
  }
};

// An owned tensor, 64-byte aligned, zero-filled. Copies share the storage (shared_ptr); clone()
// copies the bytes.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType type, Shape shape);
  static Tensor copy_of(const TensorView& view);
  // Wraps foreign memory (for instance a mapping) that `owner` keeps alive; read-only by contract.
  static Tensor borrow(const TensorView& view, std::shared_ptr<const void> owner);

  [[nodiscard]] bool empty() const { return data_ == nullptr; }
  [[nodiscard]] DType type() const { return type_; }
  [[nodiscard]] const Shape& shape() const { return shape_; }
  [[nodiscard]] int64_t numel() const { return shape_.numel(); }
  [[nodiscard]] int64_t nbytes() const { return byte_size(type_, shape_); }
  [[nodiscard]] std::byte* bytes() { return data_; }
  [[nodiscard]] const std::byte* bytes() const { return data_; }
  [[nodiscard]] TensorView view() const { return {type_, shape_, data_}; }
  [[nodiscard]] Tensor clone() const { return copy_of(view()); }

  template <typename T>
  [[nodiscard]] std::span<T> as() {
    check(type_ == DTypeOf<T>::value, "tensor holds {}, asked for another type", dtype_name(type_));
    return {reinterpret_cast<T*>(data_), static_cast<size_t>(numel())};
  }
  template <typename T>
  [[nodiscard]] std::span<const T> as() const {
    return view().template as<T>();
  }

 private:
  DType type_ = DType::kF32;
  Shape shape_;
  std::shared_ptr<const void> owner_;
  std::byte* data_ = nullptr;
};

}  // namespace hone
