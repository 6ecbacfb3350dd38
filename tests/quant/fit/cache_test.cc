#include "quant/fit/cache.h"

#include <gtest/gtest.h>

#include "tests/fixture/published.h"

namespace hone {
namespace {

using testing_fixture::published_checkpoint;
using testing_fixture::published_config;

ModelDimensions parse(const std::string& name) {
  return ModelDimensions::parse(published_config(name), name);
}

TEST(Cache, GroupedQueries) {
  const ModelDimensions llama = parse("meta-llama/Meta-Llama-3.1-8B");
  // 32 layers, 8 heads of 128, keys and values in BF16.
  EXPECT_EQ(cache_bytes_per_token(llama, {}), 32 * 2 * 8 * 128 * 2);
  EXPECT_EQ(cache_bytes(llama, {}, 8192), int64_t{1} << 30);
  EXPECT_EQ(cache_bytes_fixed(llama, {}), 0);
  EXPECT_EQ(cache_bytes(llama, {.element_bytes = 1}, 8192), int64_t{1} << 29);
  EXPECT_EQ(cache_bytes(llama, {.tp = 8}, 8192), int64_t{1} << 27);
  // More GPUs than heads: each keeps one.
  EXPECT_EQ(cache_bytes(llama, {.tp = 32}, 8192), int64_t{1} << 27);
}

TEST(Cache, LatentsAreNotShared) {
  const ModelDimensions v3 = parse("deepseek-ai/DeepSeek-V3");
  // 61 layers of 512 + 64: 70,272 bytes, the figure of DeepSeek's reports.
  EXPECT_EQ(cache_bytes_per_token(v3, {}), 70'272);
  EXPECT_EQ(cache_bytes_per_token(v3, {.tp = 8}), 70'272);
  EXPECT_EQ(cache_bytes_per_token(v3, {.element_bytes = 1}), 35'136);
  EXPECT_EQ(cache_bytes_per_token(v3, {.mtp = true}), 62 * 576 * 2);
}

TEST(Cache, IndexersAddTheirKeys) {
  const ModelDimensions v32 = parse("deepseek-ai/DeepSeek-V3.2");
  EXPECT_EQ(cache_bytes_per_token(v32, {}), 70'272 + 61 * (128 + 4));
}

TEST(Cache, WindowsFillUp) {
  const ModelDimensions oss = parse("openai/gpt-oss-20b");
  const int64_t layer = 2 * 8 * 64 * 2;
  EXPECT_EQ(cache_bytes_per_token(oss, {}), 12 * layer);
  EXPECT_EQ(cache_bytes_fixed(oss, {}), 12 * 128 * layer);
  EXPECT_EQ(cache_bytes(oss, {}, 100), 24 * 100 * layer);
  EXPECT_EQ(cache_bytes(oss, {}, 1000), 12 * (1000 + 128) * layer);
  EXPECT_EQ(cache_bytes(oss, {.ignore_windows = true}, 1000), 24 * 1000 * layer);
  EXPECT_EQ(cache_bytes_fixed(oss, {.ignore_windows = true}), 0);
}

TEST(Cache, StatesDoNotGrow) {
  const ModelDimensions next = parse("qwen3-next/80B-A3B");
  // 12 of 48 layers look back, with 2 heads of 256.
  EXPECT_EQ(cache_bytes_per_token(next, {}), 12 * 2 * 2 * 256 * 2);
  const int64_t state = 32 * 128 * 128 * 4 + (2 * 16 * 128 + 32 * 128) * 3 * 2;
  EXPECT_EQ(cache_bytes_fixed(next, {}), 36 * state);
  EXPECT_EQ(cache_bytes(next, {}, 1), cache_bytes_per_token(next, {}) + 36 * state);
  const ModelDimensions k3 = parse("moonshotai/Kimi-K3");
  EXPECT_EQ(cache_bytes_per_token(k3, {}), 24 * 576 * 2);
  EXPECT_EQ(cache_bytes_fixed(k3, {}), 69 * (96 * 128 * 128 * 4 + 3 * 96 * 128 * 3 * 2));
}

}  // namespace
}  // namespace hone
