#include "core/io/safetensors_scan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/io/safetensors_bytes.h"
#include "tests/core/io/temp_folder.h"

namespace hone {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = ScanProblem::Kind;

SafetensorsScan scan_of(const TempFolder& folder, const std::string& bytes) {
  write_bytes(folder / "a.safetensors", bytes);
  return SafetensorsScan::open(folder / "a.safetensors");
}

TEST(SafetensorsScan, SoundFiles) {
  const TempFolder folder;
  const SafetensorsScan scan = scan_of(
      folder,
      safetensors_bytes(
          R"({"__metadata__":{"format":"pt"},)"
          R"("b":{"dtype":"U8","shape":[3],"data_offsets":[4,7]},)"
          R"("a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}})",
          "abcdefg"
      )
  );
  EXPECT_TRUE(scan.readable());
  EXPECT_THAT(scan.problems(), IsEmpty());
  ASSERT_EQ(scan.tensors().size(), 2U);
  EXPECT_EQ(scan.tensors()[0].name, "a");
  EXPECT_EQ(scan.tensors()[1].shape, Shape{3});
  EXPECT_EQ(static_cast<char>(scan.bytes(scan.tensors()[1])[0]), 'e');
}

TEST(SafetensorsScan, BrokenEntriesDoNotHideSoundOnes) {
  const TempFolder folder;
  const SafetensorsScan scan = scan_of(
      folder,
      safetensors_bytes(
          R"({"type":{"dtype":"F9","shape":[4],"data_offsets":[0,4]},)"
          R"("size":{"dtype":"F32","shape":[2],"data_offsets":[0,4]},)"
          R"("end":{"dtype":"U8","shape":[9],"data_offsets":[0,9]},)"
          R"("none":{},"list":[],"negative":{"dtype":"U8","shape":[-1],"data_offsets":[0,4]},)"
          R"("good":{"dtype":"U8","shape":[4],"data_offsets":[0,4]}})",
          "abcd"
      )
  );
  EXPECT_TRUE(scan.readable());
  ASSERT_EQ(scan.tensors().size(), 1U);
  EXPECT_EQ(scan.tensors()[0].name, "good");
  EXPECT_THAT(
      scan.broken(),
      testing::UnorderedElementsAre("type", "size", "end", "none", "list", "negative")
  );
  ASSERT_EQ(scan.problems().size(), 6U);
  for (const ScanProblem& problem : scan.problems()) EXPECT_EQ(problem.kind, Kind::kTensor);
  EXPECT_THAT(scan.problems()[0].text, HasSubstr("F9"));
  EXPECT_THAT(scan.problems()[1].text, HasSubstr("needs 8 bytes"));
  EXPECT_THAT(scan.problems()[2].text, HasSubstr("outside of the 4 data bytes"));
}

TEST(SafetensorsScan, Layout) {
  const TempFolder folder;
  const SafetensorsScan scan = scan_of(
      folder,
      safetensors_bytes(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},)"
          R"("b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]},)"
          R"("c":{"dtype":"U8","shape":[1],"data_offsets":[7,8]}})",
          "abcdefghij"
      )
  );
  EXPECT_EQ(scan.tensors().size(), 3U);
  ASSERT_EQ(scan.problems().size(), 3U);
  for (const ScanProblem& problem : scan.problems()) EXPECT_EQ(problem.kind, Kind::kLayout);
  EXPECT_EQ(scan.problems()[0].text, "it overlaps the tensor before it");
  EXPECT_EQ(scan.problems()[1].text, "1 bytes before it belong to no tensor");
  EXPECT_EQ(scan.problems()[2].text, "2 bytes follow the last tensor");
}

TEST(SafetensorsScan, FilesWithoutAHeader) {
  const TempFolder folder;
  const auto kind_of = [&](const std::string& bytes) {
    const SafetensorsScan scan = scan_of(folder, bytes);
    EXPECT_FALSE(scan.readable());
    EXPECT_EQ(scan.problems().size(), 1U);
    return scan.problems().empty() ? Kind::kLayout : scan.problems().front().kind;
  };
  EXPECT_EQ(kind_of(""), Kind::kHeader);
  EXPECT_EQ(kind_of("short"), Kind::kHeader);
  EXPECT_EQ(kind_of(std::string(8, '\xFF') + "{}"), Kind::kHeader);
  EXPECT_EQ(kind_of(safetensors_bytes("{\"a\":", "")), Kind::kHeader);
  EXPECT_EQ(kind_of(safetensors_bytes("[]", "")), Kind::kHeader);
  EXPECT_EQ(kind_of("version https://git-lfs.github.com/spec/v1\noid x\n"), Kind::kPointer);
  EXPECT_FALSE(SafetensorsScan::open(folder / "missing").readable());
}

}  // namespace
}  // namespace hone
