#include "quant/select/engine_limits.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

PlanEntry entry(const char* module, Role role, const char* scheme, int64_t rows, int64_t cols) {
  PlanEntry e;
  e.module = module;
  e.role = role;
  e.scheme = find_scheme(scheme);
  e.shape = Shape{rows, cols};
  if (role == Role::kAttnQ || role == Role::kAttnK || role == Role::kAttnV) e.fused_group = "qkv";
  return e;
}

std::vector<PlanWarning> warnings(std::vector<PlanEntry> entries, const char* engine = "") {
  Plan plan;
  plan.entries = std::move(entries);
  return engine_warnings(plan, engine);
}

TEST(EngineLimits, NothingToSayAboutLargeEvenShapes) {
  EXPECT_TRUE(warnings({entry("o", Role::kAttnO, "nvfp4", 4096, 4096)}).empty());
  EXPECT_TRUE(warnings({entry("o", Role::kAttnO, "fp8-block", 4096, 4096)}).empty());
}

TEST(EngineLimits, MergedBlockFp8PartsMustEndOnBlocks) {
  const auto found = warnings({entry("k", Role::kAttnK, "fp8-block", 192, 1024)}, "vllm");
  ASSERT_FALSE(found.empty());
  EXPECT_TRUE(found[0].refused);
  EXPECT_THAT(found[0].text, HasSubstr("first k [192, 1024]"));
  EXPECT_TRUE(warnings({entry("k", Role::kAttnK, "nvfp4", 192, 1024)}, "vllm").empty());
}

TEST(EngineLimits, TensorParallelSizesThatCutABlock) {
  // 1536 / 128 = 12 blocks: two and four parts are whole, eight are not.
  const auto found = warnings({entry("d", Role::kMlpDown, "fp8-block", 4096, 1536)}, "vllm");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].text, HasSubstr("tensor parallel size 8"));
  EXPECT_FALSE(found[0].refused);
}

TEST(EngineLimits, SglangAndNvfp4) {
  const auto odd = warnings({entry("o", Role::kAttnO, "nvfp4", 100, 1024)}, "sglang");
  ASSERT_EQ(odd.size(), 1U);
  EXPECT_FALSE(odd[0].refused);
  const auto narrow = warnings({entry("o", Role::kAttnO, "nvfp4", 128, 48)}, "sglang");
  ASSERT_EQ(narrow.size(), 1U);
  const auto weight_only = warnings({entry("o", Role::kAttnO, "nvfp4a16", 128, 128)}, "sglang");
  ASSERT_EQ(weight_only.size(), 1U);
  EXPECT_TRUE(weight_only[0].refused);
}

TEST(EngineLimits, CountsModulesAndNamesTheFirst) {
  const auto found = warnings(
      {entry("a", Role::kAttnO, "nvfp4", 4096, 4096),
       entry("b", Role::kAttnO, "nvfp4", 100, 64),
       entry("c", Role::kAttnO, "nvfp4", 100, 64)},
      "sglang"
  );
  ASSERT_EQ(found.size(), 1U);
  EXPECT_THAT(found[0].text, HasSubstr("(2 modules, first b [100, 64])"));
}

TEST(EngineLimits, UnknownEnginesAreRefused) {
  EXPECT_THROW(warnings({}, "llama.cpp"), UsageError);
}

}  // namespace
}  // namespace hone
