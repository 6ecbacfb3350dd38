// Replays the seed corpora: what is named ok_* must be taken, what is named bad_* refused.
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/fuzz/targets.h"

namespace hone {
namespace {

void replay(const std::string& name, bool (*target)(const uint8_t*, size_t)) {
  int taken = 0;
  int refused = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(HONE_TEST_DATA) + "/corpus/" + name)) {
    std::ostringstream text;
    text << std::ifstream(entry.path(), std::ios::binary).rdbuf();
    const std::string bytes = text.str();
    const std::string file = entry.path().filename().string();
    const bool valid = target(reinterpret_cast<const uint8_t*>(bytes.data()), bytes.size());
    EXPECT_EQ(valid, file.starts_with("ok_")) << file;
    ++(valid ? taken : refused);
    // Every prefix of a seed is hostile input, too.
    for (size_t keep = 0; keep < bytes.size(); keep += 1 + bytes.size() / 16) {
      (void)target(reinterpret_cast<const uint8_t*>(bytes.data()), keep);
    }
  }
  EXPECT_GE(taken, 2);
  EXPECT_GE(refused, 3);
}

TEST(FuzzCorpus, Safetensors) {
  replay("safetensors", fuzz_safetensors);
}
TEST(FuzzCorpus, Index) {
  replay("index", fuzz_index);
}
TEST(FuzzCorpus, Dialect) {
  replay("dialect", fuzz_dialect);
}

}  // namespace
}  // namespace hone
