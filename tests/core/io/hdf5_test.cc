#include "core/io/hdf5.h"

#include <chrono>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/core/io/temp_folder.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

Tensor counted(DType type, const Shape& shape) {
  Tensor tensor(type, shape);
  for (int64_t i = 0; i < tensor.nbytes(); ++i) tensor.bytes()[i] = static_cast<std::byte>(i % 61);
  return tensor;
}

bool equal(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && a.shape() == b.shape() &&
         std::memcmp(a.view().data, b.view().data, static_cast<size_t>(a.nbytes())) == 0;
}

void write_sample(const std::filesystem::path& path) {
  Hdf5Writer writer(path);
  for (const DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kU8}) {
    writer.write("all/" + std::string(dtype_name(type)), counted(type, {3, 4}).view());
  }
  writer.write("scalar", counted(DType::kF64, {}).view());
  writer.write("empty", Tensor(DType::kF32, {0, 5}).view());
  writer.write_strings("deep/er/names", std::vector<std::string>{"a", "", "model.layers.0.mlp"});
  writer.attribute("", "schema", std::string("hone.test"));
  writer.attribute("/", "version", int64_t{3});
  writer.attribute("all/F32", "mean", 0.5);
  for (int64_t step = 0; step < 5; ++step)
    writer.append("growing", counted(DType::kF32, {step, 7}).view());
  writer.commit();
}

TEST(Hdf5Test, WhatIsWrittenIsReadBack) {
  TempFolder folder;
  write_sample(folder / "s.h5");
  const Hdf5Reader reader(folder / "s.h5");
  for (const DType type : {DType::kF32, DType::kF64, DType::kI32, DType::kI64, DType::kU8}) {
    EXPECT_TRUE(equal(reader.read("all/" + std::string(dtype_name(type))), counted(type, {3, 4})));
  }
  EXPECT_TRUE(equal(reader.read("scalar"), counted(DType::kF64, {})));
  EXPECT_EQ(reader.read("empty").shape(), (Shape{0, 5}));
  EXPECT_THAT(reader.read_strings("deep/er/names"), ElementsAre("a", "", "model.layers.0.mlp"));
  EXPECT_EQ(reader.string_attribute("", "schema"), "hone.test");
  EXPECT_EQ(reader.int_attribute("", "version"), 3);
  EXPECT_EQ(reader.double_attribute("all/F32", "mean"), 0.5);
  EXPECT_THAT(reader.children(""), ElementsAre("all", "deep", "empty", "growing", "scalar"));
  EXPECT_TRUE(reader.contains("deep/er/names"));
  EXPECT_FALSE(reader.contains("deep/none/names"));
}

TEST(Hdf5Test, GrowingSetsAreReadByRows) {
  TempFolder folder;
  write_sample(folder / "s.h5");
  const Hdf5Reader reader(folder / "s.h5");
  EXPECT_EQ(reader.shape("growing"), (Shape{10, 7}));
  const Tensor whole = reader.read("growing");
  const Tensor last = reader.read_rows("growing", 6, 4);  // the rows of the last step
  EXPECT_TRUE(equal(last, counted(DType::kF32, {4, 7})));
  EXPECT_EQ(std::memcmp(whole.view().data + 6 * 28, last.view().data, 4 * 28), 0);
  EXPECT_EQ(reader.read_rows("growing", 10, 0).shape(), (Shape{0, 7}));
  EXPECT_THROW((void)reader.read_rows("growing", 8, 3), UsageError);
  EXPECT_THROW((void)reader.read_rows("scalar", 0, 1), UsageError);
  Hdf5Writer writer(folder / "t.h5");
  writer.append("rows", counted(DType::kF32, {2, 7}).view());
  EXPECT_THROW(writer.append("rows", counted(DType::kF32, {2, 6}).view()), InternalError);
  EXPECT_THROW(writer.append("rows", counted(DType::kI32, {2, 7}).view()), InternalError);
  EXPECT_THROW(writer.append("one", counted(DType::kF32, {}).view()), UsageError);
}

TEST(Hdf5Test, EqualContentsGiveEqualBytes) {
  TempFolder folder;
  write_sample(folder / "a.h5");
  std::this_thread::sleep_for(std::chrono::milliseconds(1100));  // time stamps count seconds
  write_sample(folder / "b.h5");
  EXPECT_EQ(file_bytes(folder / "a.h5"), file_bytes(folder / "b.h5"));
}

TEST(Hdf5Test, TheFileAppearsOnCommitOnly) {
  TempFolder folder;
  {
    Hdf5Writer writer(folder / "s.h5");
    writer.write("x", counted(DType::kF32, {2}).view());
    EXPECT_FALSE(std::filesystem::exists(folder / "s.h5"));
  }
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  inject_write_fault_after(100);
  const std::string message = message_of<DataError>([&] { write_sample(folder / "s.h5"); });
  inject_write_fault_after(-1);
  EXPECT_THAT(message, HasSubstr("disk full"));
  EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
}

TEST(Hdf5Test, ErrorsNamePathAndObject) {
  TempFolder folder;
  const auto path = folder / "s.h5";
  EXPECT_THAT(message_of<DataError>([&] { Hdf5Reader reader(path); }), HasSubstr("s.h5"));
  write_bytes(path, "this is no HDF5 file");
  EXPECT_THAT(message_of<DataError>([&] { Hdf5Reader reader(path); }), HasSubstr("no HDF5 file"));
  write_sample(path);
  const Hdf5Reader reader(path);
  const auto both = [](const char* object) { return AllOf(HasSubstr("s.h5"), HasSubstr(object)); };
  EXPECT_THAT(message_of<DataError>([&] { (void)reader.read("none"); }), both("none"));
  EXPECT_THAT(message_of<DataError>([&] { (void)reader.read("all"); }), both("all"));
  EXPECT_THAT(
      message_of<DataError>([&] { (void)reader.read("deep/er/names"); }), both("deep/er/names")
  );
  EXPECT_THAT(
      message_of<DataError>([&] { (void)reader.read_strings("all/F32"); }), both("all/F32")
  );
  EXPECT_THAT(message_of<DataError>([&] { (void)reader.children("nowhere"); }), both("nowhere"));
  EXPECT_THAT(message_of<DataError>([&] { (void)reader.int_attribute("", "none"); }), both("none"));
  EXPECT_THAT(
      message_of<DataError>([&] { (void)reader.string_attribute("", "version"); }), both("version")
  );
  Hdf5Writer writer(folder / "t.h5");
  EXPECT_THROW(writer.write("x", Tensor(DType::kBF16, {2}).view()), UsageError);
  writer.write("x", Tensor(DType::kF32, {2}).view());
  EXPECT_THROW(writer.write("x", Tensor(DType::kF32, {2}).view()), DataError);
}

TEST(Hdf5Test, TruncatedFilesAreRefused) {
  TempFolder folder;
  write_sample(folder / "s.h5");
  const std::string whole = file_bytes(folder / "s.h5");
  for (const size_t keep : {whole.size() / 2, whole.size() - 1, size_t{100}}) {
    write_bytes(folder / "cut.h5", whole.substr(0, keep));
    EXPECT_THROW(
        {
          const Hdf5Reader reader(folder / "cut.h5");
          (void)reader.read("growing");
        },
        DataError
    ) << keep;
  }
}

TEST(Hdf5Test, SeveralThreadsMayReadAndWrite) {
  TempFolder folder;
  write_sample(folder / "s.h5");
  const Hdf5Reader reader(folder / "s.h5");
  std::vector<std::thread> threads;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        wrong += !equal(reader.read("all/F32"), counted(DType::kF32, {3, 4}));
        wrong += reader.read_strings("deep/er/names").size() != 3;
      }
      Hdf5Writer writer(folder / (std::to_string(t) + ".h5"));
      writer.write("x", counted(DType::kI64, {100}).view());
      writer.commit();
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_TRUE(equal(Hdf5Reader(folder / "3.h5").read("x"), counted(DType::kI64, {100})));
}

}  // namespace
}  // namespace hone
