#include "quant/check/name_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(NameList, GlobsMatchTheWholeName) {
  const NameList list(NameStyle::kGlob, {"model.layers.0.mlp.gate*", "*.shared_experts.*"});
  EXPECT_EQ(list.match("model.layers.0.mlp.gate"), 0);
  EXPECT_EQ(list.match("model.layers.0.mlp.gate_proj"), 0);
  EXPECT_EQ(list.match("model.layers.10.mlp.gate"), -1);
  EXPECT_EQ(list.match("x.model.layers.0.mlp.gate"), -1);
  EXPECT_EQ(list.match("model.layers.3.mlp.shared_experts.up_proj"), 1);
  // GPT-OSS: what stands above the module.
  const NameList above(NameStyle::kGlob, {"model.layers.*.self_attn"});
  EXPECT_TRUE(above.matches("model.layers.0.self_attn.q_proj"));
  EXPECT_FALSE(above.matches("model.layers.0.self_attn_norm"));
}

TEST(NameList, NamesWithoutWildcardsMeanWholeComponents) {
  const NameList list(NameStyle::kGlob, {"gate", "vision_tower", "model.layers.1.mlp"});
  EXPECT_TRUE(list.matches("model.layers.0.block_sparse_moe.gate"));
  EXPECT_FALSE(list.matches("model.layers.0.mlp.gate_proj"));
  EXPECT_TRUE(list.matches("vision_tower.blocks.0.fc1"));
  EXPECT_TRUE(list.matches("model.layers.1.mlp.up_proj"));
  EXPECT_FALSE(list.matches("model.layers.11.mlp.up_proj"));
  EXPECT_FALSE(list.matches(""));
}

TEST(NameList, ExpressionsMatchFromTheStart) {
  const NameList list(
      NameStyle::kRegex, {"lm_head", "re:.*self_attn.*", "re:mlp", "model.layers.0"}
  );
  EXPECT_EQ(list.match("lm_head"), 0);
  EXPECT_EQ(list.match("model.lm_head"), -1);
  EXPECT_EQ(list.match("model.layers.0.self_attn.q_proj"), 1);
  EXPECT_EQ(list.match("model.layers.0.mlp.up_proj"), -1);  // "mlp" is not at the start
  EXPECT_EQ(list.match("mlp.up_proj"), 2);                  // nor need it reach the end
  EXPECT_EQ(list.match("model.layers.0"), 3);
}

TEST(NameList, TheFirstEntryCounts) {
  const NameList list(NameStyle::kRegex, {"re:.*up.*", "model.up"});
  EXPECT_EQ(list.match("model.up"), 0);
  EXPECT_THAT(list.mistakes(), testing::IsEmpty());
}

TEST(NameList, BrokenExpressionsAreListed) {
  const NameList list(NameStyle::kRegex, {"re:(", "lm_head"});
  ASSERT_EQ(list.mistakes().size(), 1U);
  EXPECT_THAT(list.mistakes()[0], testing::HasSubstr("re:("));
  EXPECT_TRUE(list.matches("lm_head"));
}

}  // namespace
}  // namespace hone
