#include "quant/ordered_output.h"

#include <atomic>
#include <cstring>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/fixture/random_checkpoint.h"
#include "tests/reference/quant_formats.h"

namespace hone {
namespace {

using testing_fixture::fresh_path;

std::vector<std::byte> filled(OrderedOutput& output, size_t size, int value) {
  std::vector<std::byte> bytes = output.buffer(size);
  std::memset(bytes.data(), value, size);
  return bytes;
}

TEST(OrderedOutput, PiecesArriveInOrder) {
  const auto folder = fresh_path("ordered");
  CheckpointWriter writer(folder, {{"a", DType::kU8, {1000}}, {"b", DType::kU8, {3}}}, {});
  const std::string borrowed = "xyz";
  std::atomic<int> done = 0;
  {
    OrderedOutput output(writer, 2);
    for (int i = 0; i < 100; ++i) output.append("a", filled(output, 10, i));
    output.append("b", std::as_bytes(std::span(borrowed)), [&] { ++done; });
    output.finish();
  }
  EXPECT_EQ(done, 1);
  writer.commit();
  const auto tensors = reference::read_folder(folder);
  EXPECT_EQ(tensors.at("b").bytes, "xyz");
  for (size_t i = 0; i < 1000; ++i) {
    ASSERT_EQ(static_cast<uint8_t>(tensors.at("a").bytes[i]), i / 10);
  }
}

TEST(OrderedOutput, AnErrorOfTheWriterReachesTheProducer) {
  const auto folder = fresh_path("ordered-error");
  {
    CheckpointWriter writer(folder, {{"a", DType::kU8, {10}}, {"b", DType::kU8, {10}}}, {});
    OrderedOutput output(writer, 2);
    output.append("b", filled(output, 10, 1));
    EXPECT_THROW(
        {
          output.finish();
          output.append("a", filled(output, 10, 1));
        },
        Error
    );
    EXPECT_THROW(output.append("a", filled(output, 10, 1)), Error);
    EXPECT_THROW(output.finish(), Error);
  }
  EXPECT_FALSE(std::filesystem::exists(folder));
}

TEST(OrderedOutput, LeavingWithUnwrittenPiecesEnds) {
  const auto folder = fresh_path("ordered-leave");
  CheckpointWriter writer(folder, {{"a", DType::kU8, {100'000'000}}}, {});
  OrderedOutput output(writer, 4);
  for (int i = 0; i < 3; ++i) output.append("a", filled(output, 1000, i));
}

}  // namespace
}  // namespace hone
