#include "core/tensor/tensor.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

constexpr int64_t kHuge = std::numeric_limits<int64_t>::max();

TEST(ShapeTest, CountsAndIndexes) {
  const Shape shape{2, 3, 4};
  EXPECT_EQ(shape.numel(), 24);
  EXPECT_EQ(shape.rank(), 3);
  EXPECT_EQ(shape.dim(-1), 4);
  EXPECT_EQ(shape.dim(0), 2);
  EXPECT_EQ(shape.str(), "[2, 3, 4]");
  EXPECT_EQ(Shape{}.numel(), 1);
  EXPECT_EQ(Shape{}.str(), "[]");
  EXPECT_THROW((void)shape.dim(3), UsageError);
  EXPECT_THROW((void)shape.dim(-4), UsageError);
}

TEST(ShapeTest, ImpossibleSizesAreRefused) {
  EXPECT_THROW((void)(Shape{-1, 2}.numel()), DataError);
  EXPECT_THROW((void)(Shape{kHuge, 2}.numel()), DataError);
  EXPECT_THROW((void)(Shape{int64_t{1} << 32, int64_t{1} << 32}.numel()), DataError);
  EXPECT_EQ((Shape{kHuge, kHuge, 0}.numel()), 0);
  EXPECT_EQ((Shape{0, kHuge, kHuge}.numel()), 0);
  EXPECT_THROW((void)byte_size(DType::kF64, Shape{kHuge / 4}), DataError);
}

TEST(ShapeTest, BytesOfHalfByteTypesRoundUp) {
  EXPECT_EQ(byte_size(DType::kF4, Shape{5}), 3);
  EXPECT_EQ(byte_size(DType::kF4, Shape{4}), 2);
  EXPECT_EQ(byte_size(DType::kBF16, Shape{3, 5}), 30);
  EXPECT_EQ(byte_size(DType::kF4, Shape{kHuge}), kHuge / 2 + 1);
}

TEST(TensorTest, IsZeroFilledAlignedAndShared) {
  Tensor tensor(DType::kF32, {3, 5});
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes()) % 64, 0U);
  for (const float x : tensor.as<float>()) EXPECT_EQ(x, 0.0F);
  Tensor alias = tensor;
  Tensor copy = tensor.clone();
  tensor.as<float>()[7] = 2.0F;
  EXPECT_EQ(alias.as<float>()[7], 2.0F);
  EXPECT_EQ(copy.as<float>()[7], 0.0F);
  EXPECT_EQ(copy.shape(), tensor.shape());
}

TEST(TensorTest, EmptyTensorsAreTensors) {
  EXPECT_TRUE(Tensor().empty());
  Tensor none(DType::kI64, {0, 4});
  EXPECT_FALSE(none.empty());
  EXPECT_EQ(none.nbytes(), 0);
  EXPECT_EQ(none.as<int64_t>().size(), 0U);
  EXPECT_EQ(none.clone().shape(), (Shape{0, 4}));
}

TEST(TensorTest, BorrowedMemoryLivesAsLongAsTheTensor) {
  auto owner = std::make_shared<std::vector<float>>(4, 1.5F);
  std::weak_ptr<std::vector<float>> watch = owner;
  const TensorView view{DType::kF32, Shape{4}, reinterpret_cast<const std::byte*>(owner->data())};
  Tensor tensor = Tensor::borrow(view, owner);
  owner.reset();
  EXPECT_FALSE(watch.expired());
  EXPECT_EQ(std::as_const(tensor).as<float>()[3], 1.5F);
  tensor = Tensor();
  EXPECT_TRUE(watch.expired());
}

TEST(TensorTest, WrongTypesAndMisalignmentAreCaught) {
  const Tensor tensor(DType::kF32, {4});
  EXPECT_THROW((void)tensor.as<double>(), InternalError);
  const TensorView shifted{DType::kF32, Shape{2}, tensor.view().data + 1};
  EXPECT_THROW((void)shifted.as<float>(), InternalError);
}

TEST(TensorTest, ImpossibleSizesThrowInsteadOfAllocating) {
  EXPECT_THROW(Tensor(DType::kF32, {kHuge, 3}), DataError);
  EXPECT_ANY_THROW(Tensor(DType::kU8, {kHuge / 4}));
}

}  // namespace
}  // namespace hone
