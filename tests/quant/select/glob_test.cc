#include "quant/select/glob.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

bool matches(const char* pattern, const char* name) {
  return Glob(pattern).matches(name);
}

TEST(Glob, MatchesTheWholeNameOnly) {
  EXPECT_TRUE(matches("lm_head", "lm_head"));
  EXPECT_FALSE(matches("lm_head", "lm_head.weight"));
  EXPECT_FALSE(matches("head", "lm_head"));
  EXPECT_FALSE(matches("LM_HEAD", "lm_head"));
}

TEST(Glob, StarCrossesDots) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*", "a.b.c"));
  EXPECT_TRUE(matches("model.layers.*.q_proj", "model.layers.3.self_attn.q_proj"));
  EXPECT_FALSE(matches("model.layers.*.q_proj", "model.layers.3.self_attn.k_proj"));
  EXPECT_TRUE(matches("*a*b*", "xxaxxbxx"));
  EXPECT_FALSE(matches("*a*b*", "xxbxxaxx"));
  EXPECT_TRUE(matches("**.down", "mlp.down"));
}

TEST(Glob, StarIsNotExponential) {
  const std::string name(2000, 'a');
  const std::string pattern = "a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b";
  EXPECT_FALSE(Glob(pattern).matches(name));
}

TEST(Glob, QuestionMarkIsOneCharacter) {
  EXPECT_TRUE(matches("layers.?.mlp", "layers.7.mlp"));
  EXPECT_FALSE(matches("layers.?.mlp", "layers.17.mlp"));
  EXPECT_FALSE(matches("?", ""));
}

TEST(Glob, Sets) {
  EXPECT_TRUE(matches("w[123]", "w2"));
  EXPECT_FALSE(matches("w[123]", "w4"));
  EXPECT_TRUE(matches("w[1-3]", "w3"));
  EXPECT_TRUE(matches("w[!1-3]", "w4"));
  EXPECT_FALSE(matches("w[^1-3]", "w3"));
  EXPECT_TRUE(matches("w[]]", "w]"));
  EXPECT_TRUE(matches("w[a-]", "w-"));
  EXPECT_TRUE(matches("*[0-9].x", "layers.12.x"));
  EXPECT_FALSE(matches("w[1-3]", "w"));
}

TEST(Glob, Braces) {
  EXPECT_TRUE(matches("attn.{q,k,v}", "attn.k"));
  EXPECT_FALSE(matches("attn.{q,k,v}", "attn.o"));
  EXPECT_TRUE(matches("{a,b{c,d}}", "bd"));
  EXPECT_TRUE(matches("x{,y}", "x"));
  EXPECT_TRUE(matches("layers.{0..3}.*", "layers.3.mlp"));
  EXPECT_FALSE(matches("layers.{0..3}.*", "layers.4.mlp"));
  EXPECT_FALSE(matches("layers.{0..3}.*", "layers.30.mlp"));
  EXPECT_TRUE(matches("layers.{8..11}.{q,k}", "layers.11.q"));
}

TEST(Glob, KnowsWhetherItIsLiteral) {
  EXPECT_TRUE(Glob("attn.q").literal());
  EXPECT_TRUE(Glob("attn.{q,k}").literal());
  EXPECT_FALSE(Glob("attn.*").literal());
  EXPECT_FALSE(Glob("attn.?").literal());
  EXPECT_FALSE(Glob("w[12]").literal());
}

TEST(Glob, RefusesBrokenPatterns) {
  EXPECT_THROW(Glob(""), UsageError);
  EXPECT_THROW(Glob("a{b"), UsageError);
  EXPECT_THROW(Glob("a[b"), UsageError);
  EXPECT_THROW(Glob("{0..99999}"), UsageError);
  EXPECT_THROW(Glob("{0..999}{0..999}"), UsageError);
}

}  // namespace
}  // namespace hone
