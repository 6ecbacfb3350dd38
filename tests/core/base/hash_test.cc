#include "core/base/hash.h"

#include <fstream>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace {

// FIPS 180-2, appendix B, and the empty message.
constexpr const char* kEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kTwoBlocks =
    "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1";
constexpr const char* kMillionA =
    "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

TEST(Sha256, PublishedVectors) {
  EXPECT_EQ(sha256(""), kEmpty);
  EXPECT_EQ(sha256("abc"), kAbc);
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"), kTwoBlocks);
  EXPECT_EQ(sha256(std::string(1000000, 'a')), kMillionA);
}

TEST(Sha256, IncrementalEqualsWhole) {
  Sha256 hash;
  hash.update("a").update("").update("bc");
  Sha256 moved = std::move(hash);
  EXPECT_EQ(moved.hex(), kAbc);
  EXPECT_THROW(moved.update("x"), InternalError);
  EXPECT_THROW(moved.hex(), InternalError);
}

TEST(Sha256, File) {
  const std::string path = testing::TempDir() + "hash_test_million";
  write_text_file(path, std::string(1000000, 'a'));
  EXPECT_EQ(sha256_file(path), kMillionA);
  write_text_file(path, "");
  EXPECT_EQ(sha256_file(path), kEmpty);
  std::filesystem::remove(path);
}

TEST(Sha256, FileErrorsNameThePath) {
  for (const std::string& path : {testing::TempDir() + "hash_test_missing", testing::TempDir()}) {
    try {
      sha256_file(path);
      FAIL() << path;
    } catch (const DataError& error) {
      EXPECT_EQ(std::string(error.what()).find(path), 0U) << error.what();
    }
  }
}

}  // namespace
}  // namespace hone
