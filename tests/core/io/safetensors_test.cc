#include "core/io/safetensors.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/io/safetensors_bytes.h"
#include "tests/core/io/temp_folder.h"

namespace hone {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// What open() says of a file with these bytes.
std::string complaint(const std::string& bytes) {
  TempFolder folder;
  const auto path = folder / "broken.safetensors";
  write_bytes(path, bytes);
  std::string message = message_of<DataError>([&] { (void)SafetensorsFile::open(path); });
  EXPECT_THAT(message, HasSubstr("broken.safetensors"));
  return message;
}
std::string header_complaint(const std::string& header, const std::string& data = "") {
  return complaint(safetensors_bytes(header, data));
}

TEST(SafetensorsRead, AFileOfTheReferenceImplementation) {
  const auto path = std::string(HONE_SOURCE_DIR) + "/tests/golden/format/codecs.safetensors";
  const auto file = SafetensorsFile::open(path);
  EXPECT_EQ(file->names().size(), 19U);
  const TensorView weight = file->tensor("fp8.weight");
  EXPECT_EQ(weight.type, DType::kBF16);
  EXPECT_EQ(weight.shape, (Shape{130, 272}));
  EXPECT_EQ(file->tensor("e2m1_values").as<float>()[7], 6.0F);
}

TEST(SafetensorsRead, OrdersByOffsetAndReadsMetadata) {
  TempFolder folder;
  const auto path = folder / "a.safetensors";
  write_bytes(
      path,
      safetensors_bytes(
          R"({"b":{"dtype":"U8","shape":[2],"data_offsets":[4,6]},"__metadata__":{"format":"pt"},)"
          R"("empty":{"dtype":"F32","shape":[0,7],"data_offsets":[4,4]},)"
          R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}   )",
          std::string("\0\0\x80\x3f\1\2", 6)
      )
  );
  const auto file = SafetensorsFile::open(path);
  EXPECT_THAT(file->names(), ElementsAre("a", "empty", "b"));
  EXPECT_EQ(file->metadata().at("format"), "pt");
  EXPECT_EQ(file->tensor("b").as<uint8_t>()[1], 2);
  float one = 0;
  std::memcpy(&one, file->tensor("a").data, 4);
  EXPECT_EQ(one, 1.0F);
  EXPECT_EQ(file->tensor("empty").numel(), 0);
  EXPECT_FALSE(file->contains("c"));
  EXPECT_THAT(
      message_of<DataError>([&] { (void)file->tensor("c"); }), HasSubstr("\"c\" is missing")
  );
  file->drop("b");
  file->drop("a", 0, 4);
  file->prefetch("a", 0, 4);
  EXPECT_THROW(file->drop("a", 2, 4), UsageError);
  EXPECT_EQ(file->tensor("b").as<uint8_t>()[0], 1);
}

TEST(SafetensorsRead, TruncatedFiles) {
  EXPECT_THAT(complaint(""), HasSubstr("0 bytes are too few"));
  EXPECT_THAT(complaint("1234567"), HasSubstr("7 bytes are too few"));
  const std::string whole =
      safetensors_bytes(R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "12345678");
  EXPECT_THAT(complaint(whole.substr(0, 30)), HasSubstr("truncated"));
  EXPECT_THAT(
      complaint(whole.substr(0, whole.size() - 1)),
      AllOf(HasSubstr("\"a\""), HasSubstr("truncated"))
  );
  EXPECT_THAT(complaint(whole + "x"), HasSubstr("1 bytes follow the last tensor"));
}

TEST(SafetensorsRead, ImpossibleHeaderLengths) {
  std::string bytes = safetensors_bytes("{}", "");
  bytes[7] = 0x10;
  EXPECT_THAT(complaint(bytes), HasSubstr("exceeds 100000000 bytes"));
  bytes.assign(16, '\xff');
  EXPECT_THAT(complaint(bytes), HasSubstr("exceeds"));
}

TEST(SafetensorsRead, GitLfsPointers) {
  const std::string message =
      complaint("version https://git-lfs.github.com/spec/v1\noid sha256:4d7a\nsize 4976698672\n");
  EXPECT_THAT(message, AllOf(HasSubstr("Git LFS pointer"), HasSubstr("git lfs pull")));
}

TEST(SafetensorsRead, HeadersThatAreNoJsonObject) {
  for (const char* header :
       {"",
        "  ",
        "[]",
        "nonsense",
        "{\"a\":",
        "{} {}",
        "{\"a\":1}",
        "\xff\xfe{}",
        "null",
        "{\"__metadata__\":[]}",
        "{\"__metadata__\":{\"a\":1}}"}) {
    EXPECT_NE(header_complaint(header), "") << header;
  }
}

TEST(SafetensorsRead, EntriesWithWrongFields) {
  for (const char* entry : {
           R"({"shape":[1],"data_offsets":[0,4]})",
           R"({"dtype":"F32","data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":[1]})",
           R"({"dtype":32,"shape":[1],"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":1,"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":[1.0],"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":[-1],"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":["1"],"data_offsets":[0,4]})",
           R"({"dtype":"F32","shape":[1],"data_offsets":[0]})",
           R"({"dtype":"F32","shape":[1],"data_offsets":[0,4,8]})",
           R"({"dtype":"F32","shape":[1],"data_offsets":[-1,4]})",
           R"({"dtype":"F32","shape":[1],"data_offsets":[0,4],"dtype":"F32"})",
       }) {
    EXPECT_THAT(header_complaint(std::string("{\"w\":") + entry + "}", "1234"), HasSubstr("\"w\""))
        << entry;
  }
  EXPECT_THAT(
      header_complaint(R"({"w":{"dtype":"F31","shape":[1],"data_offsets":[0,4]}})", "1234"),
      HasSubstr("unknown dtype \"F31\"")
  );
}

TEST(SafetensorsRead, SizesThatContradictShapes) {
  EXPECT_THAT(
      header_complaint(R"({"w":{"dtype":"F32","shape":[3],"data_offsets":[0,4]}})", "1234"),
      HasSubstr("F32 [3] needs 12 bytes, data_offsets give 4")
  );
  EXPECT_THAT(
      header_complaint(R"({"w":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}})", "1234"),
      HasSubstr("[4, 0]")
  );
  // Products that overflow to something small.
  for (const char* shape :
       {"[4294967296,4294967296]",
        "[9223372036854775807,2]",
        "[9223372036854775808]",

        "[4611686018427387904,4]"}) {
    EXPECT_THAT(
        header_complaint(
            std::string(R"({"w":{"dtype":"U8","shape":)") + shape + R"(,"data_offsets":[0,0]}})"
        ),
        HasSubstr("\"w\"")
    ) << shape;
  }
  EXPECT_NE(
      header_complaint(R"({"w":{"dtype":"U8","shape":[18446744073709551616],"data_offsets":[0,0]}})"
      ),
      ""
  );
  EXPECT_THAT(
      header_complaint(
          R"({"w":{"dtype":"U8","shape":[1],"data_offsets":[18446744073709551615,0]}})", "1"
      ),
      HasSubstr("\"w\"")
  );
}

TEST(SafetensorsRead, DuplicatesOverlapsAndHoles) {
  const std::string first = R"("a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]})";
  EXPECT_THAT(
      header_complaint("{" + first + "," + first + "}", "1234"), HasSubstr("\"a\" occurs twice")
  );
  EXPECT_THAT(
      header_complaint(
          "{" + first + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})", "123456"
      ),
      HasSubstr("\"b\" overlaps")
  );
  EXPECT_THAT(
      header_complaint(
          "{" + first + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})", "1234"
      ),
      HasSubstr("overlaps")
  );
  EXPECT_THAT(
      header_complaint(
          "{" + first + R"(,"b":{"dtype":"U8","shape":[4],"data_offsets":[5,9]}})", "123456789"
      ),
      HasSubstr("hole of 1 bytes")
  );
  EXPECT_THAT(
      header_complaint(R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[1,2]}})", "12"),
      HasSubstr("hole")
  );
  EXPECT_THAT(header_complaint(R"({"__metadata__":{"k":"1","k":"2"}})"), HasSubstr("\"k\" twice"));
}

TEST(SafetensorsRead, MissingFilesAndFolders) {
  TempFolder folder;
  EXPECT_THROW((void)SafetensorsFile::open(folder / "none"), DataError);
  EXPECT_THROW((void)SafetensorsFile::open(folder.path()), DataError);
}

TEST(SafetensorsWrite, WhatIsWrittenIsReadBack) {
  TempFolder folder;
  const auto path = folder / "out.safetensors";
  Tensor weight(DType::kF32, {2, 3});
  weight.as<float>()[5] = 42.0F;
  const std::vector<TensorSpec> specs = {
      {"odd \"name\"\n\xc3\xa9", DType::kU8, Shape{3}},
      {"none", DType::kF32, Shape{0}},
      {"w", DType::kF32, Shape{2, 3}},
      {"tail", DType::kBF16, Shape{2, 0}},
  };
  SafetensorsWriter writer(path, specs, {{"format", "pt"}, {"k", "v"}});
  const std::string three = "abc";
  const auto bytes = std::as_bytes(std::span(three));
  writer.append(specs[0].name, bytes.first(1));
  writer.append(specs[0].name, bytes.subspan(1));
  writer.append("w", weight.view().bytes());
  EXPECT_FALSE(std::filesystem::exists(path));
  writer.finish();
  const auto file = SafetensorsFile::open(path);
  EXPECT_THAT(file->names(), ElementsAre(specs[0].name, "none", "w", "tail"));
  EXPECT_EQ(file->metadata().at("k"), "v");
  EXPECT_EQ(file->tensor("w").shape, (Shape{2, 3}));
  EXPECT_EQ(std::memcmp(file->tensor("w").data, weight.bytes(), 24), 0);
  EXPECT_EQ(file->tensor(specs[0].name).as<uint8_t>()[2], 'c');
}

TEST(SafetensorsWrite, MisuseIsCaught) {
  TempFolder folder;
  const std::vector<TensorSpec> specs = {{"a", DType::kU8, Shape{2}}, {"b", DType::kU8, Shape{1}}};
  const std::string two = "xy";
  const auto bytes = std::as_bytes(std::span(two));
  EXPECT_THROW(SafetensorsWriter(folder / "t", {specs[0], specs[0]}), UsageError);
  {
    SafetensorsWriter writer(folder / "t", specs);
    EXPECT_THROW(writer.append("b", bytes.first(1)), InternalError);
    writer.append("a", bytes);
    EXPECT_THROW(writer.append("a", bytes.first(1)), InternalError);
  }
  {
    SafetensorsWriter writer(folder / "t", specs);
    writer.append("a", bytes);
    EXPECT_THROW(writer.finish(), InternalError);
    EXPECT_THROW(writer.append("c", bytes), InternalError);
  }
  EXPECT_FALSE(std::filesystem::exists(folder / "t"));
  EXPECT_FALSE(std::filesystem::exists(folder / "t.partial"));
}

TEST(SafetensorsWrite, AFullDiskLeavesNothing) {
  TempFolder folder;
  Tensor big(DType::kU8, {3'000'000});
  for (const int64_t room : {0, 100, 1'500'000, 2'999'000}) {
    inject_write_fault_after(room);
    const std::string message = message_of<DataError>([&] {
      write_safetensors(folder / "full.safetensors", {{"big", big}});
    });
    inject_write_fault_after(-1);
    EXPECT_THAT(message, AllOf(HasSubstr("full.safetensors"), HasSubstr("disk full")));
    EXPECT_TRUE(std::filesystem::is_empty(folder.path()));
  }
  write_safetensors(folder / "full.safetensors", {{"big", big}});
  EXPECT_EQ(SafetensorsFile::open(folder / "full.safetensors")->tensor("big").numel(), 3'000'000);
}

}  // namespace
}  // namespace hone
