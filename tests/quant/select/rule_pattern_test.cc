#include "quant/select/rule_pattern.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

constexpr RuleSubject kUp{
    Role::kMlpUp,
    "model.layers.3.mlp.up_proj",
    "model.layers.3.mlp.up_proj.weight",
    3,
    32,
    5'000'000};

bool matches(const char* pattern, const RuleSubject& subject = kUp) {
  return RulePattern(pattern).matches(subject);
}

std::string error_of(const char* pattern) {
  try {
    const RulePattern parsed(pattern);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(RulePattern, Layers) {
  EXPECT_TRUE(matches("layer:3"));
  EXPECT_TRUE(matches("layer:0..3"));
  EXPECT_TRUE(matches("layer:3..3"));
  EXPECT_FALSE(matches("layer:4..31"));
  EXPECT_TRUE(matches("layer:-29"));
  EXPECT_TRUE(matches("layer:-32..-29"));
  EXPECT_FALSE(matches("layer:-28..-1"));
  EXPECT_TRUE(matches("layer:1..-2"));
  EXPECT_FALSE(matches("layer:-1"));
  RuleSubject last = kUp;
  last.layer = 31;
  EXPECT_TRUE(matches("layer:-1", last));
  RuleSubject outside = kUp;
  outside.layer = -1;
  EXPECT_FALSE(matches("layer:0..31", outside));
  EXPECT_FALSE(matches("layer:-32..-1", outside));
}

TEST(RulePattern, Sizes) {
  EXPECT_TRUE(matches("size>4999999"));
  EXPECT_FALSE(matches("size>5m"));
  EXPECT_FALSE(matches("size<5m"));
  EXPECT_TRUE(matches("size<5001k"));
  EXPECT_TRUE(matches("size<1g"));
  EXPECT_TRUE(matches("size>1m&size<10m"));
  EXPECT_FALSE(matches("size>6m&size<10m"));
}

TEST(RulePattern, RegularExpressions) {
  EXPECT_TRUE(matches(R"(re:\.mlp\.(gate|up)_proj$)"));
  EXPECT_TRUE(matches(R"(re:^model\.layers\.[0-3]\.)"));
  EXPECT_TRUE(matches("re:up_proj.weight$"));
  EXPECT_FALSE(matches("re:^mlp"));
  // It takes the rest of the pattern, ampersands too.
  EXPECT_FALSE(matches("re:up_proj&layer:3"));
}

TEST(RulePattern, AllConditionsMustHold) {
  EXPECT_TRUE(matches("mlp.*&layer:0..3"));
  EXPECT_FALSE(matches("mlp.*&layer:4"));
  EXPECT_FALSE(matches("attn.*&layer:3"));
  EXPECT_TRUE(matches("mlp.*&*.layers.3.*&size>1m&re:up"));
}

TEST(RulePattern, OnlyPlainNamesAreLiteral) {
  EXPECT_TRUE(RulePattern("lm_head").literal());
  for (const char* text : {"lm_*", "lm_head&layer:3", "lm_head&size>1", "re:lm_head", "layer:3"}) {
    EXPECT_FALSE(RulePattern(text).literal()) << text;
  }
}

TEST(RulePattern, ErrorsNameThePattern) {
  EXPECT_THAT(error_of(""), HasSubstr("empty pattern"));
  EXPECT_THAT(error_of("mlp.*&"), HasSubstr("empty pattern"));
  EXPECT_THAT(error_of("layer:x"), HasSubstr("pattern \"layer:x\": expected layer:3"));
  EXPECT_THAT(error_of("layer:"), HasSubstr("expected layer:3"));
  EXPECT_THAT(error_of("layer:3.."), HasSubstr("expected layer:3"));
  EXPECT_THAT(error_of("layer:3..1"), HasSubstr("layer 3 comes after 1"));
  EXPECT_THAT(error_of("layer:-1..-3"), HasSubstr("layer -1 comes after -3"));
  EXPECT_THAT(error_of("size>"), HasSubstr("expected size<1000000"));
  EXPECT_THAT(error_of("size<-1"), HasSubstr("expected size<1000000"));
  EXPECT_THAT(error_of("size<1t"), HasSubstr("expected size<1000000"));
  EXPECT_THAT(error_of("size<9999999999999g"), HasSubstr("expected size<1000000"));
  EXPECT_THAT(error_of("re:"), HasSubstr("expression is empty"));
  EXPECT_THAT(error_of("re:(up"), HasSubstr("pattern \"re:(up\""));
}

}  // namespace
}  // namespace hone
