#include "quant/select/rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

std::vector<Rule> rules(std::initializer_list<const char*> texts) {
  std::vector<Rule> parsed;
  for (const char* text : texts) parsed.push_back(Rule::parse(text));
  return parsed;
}

RuleDecision decide_q(const std::vector<Rule>& parsed) {
  return decide(
      parsed,
      find_scheme("nvfp4"),
      {Role::kAttnQ,
       "model.layers.3.self_attn.q_proj",
       "model.layers.3.self_attn.q_proj.weight",
       3,
       32,
       4096 * 4096}
  );
}

std::string error_of(const char* text) {
  try {
    Rule::parse(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(Rules, TheSchemeAppliesToProjections) {
  const auto d = decide_q({});
  ASSERT_NE(d.scheme, nullptr);
  EXPECT_EQ(d.scheme->name, "nvfp4");
  EXPECT_EQ(d.reason, "scheme nvfp4");
  EXPECT_FALSE(d.explicit_request());
}

TEST(Rules, DefaultsKeepWhatEnginesReadUnquantized) {
  for (Role role :
       {Role::kEmbedding,
        Role::kLmHead,
        Role::kNorm,
        Role::kMoeRouter,
        Role::kMoeLatent,
        Role::kAttnSinks,
        Role::kAttnIndexer,
        Role::kLinearAttn,
        Role::kMtp,
        Role::kPosition,
        Role::kResidual,
        Role::kVision,
        Role::kAudio,
        Role::kModulation,
        Role::kCondition,
        Role::kProjectOut,
        Role::kOther}) {
    const auto d = decide({}, find_scheme("fp8-block"), {role, "m", "m.weight"});
    EXPECT_EQ(d.scheme, nullptr) << role_name(role);
    EXPECT_THAT(d.reason, HasSubstr("default: ")) << role_name(role);
  }
  const auto absorbed = decide({}, find_scheme("nvfp4"), {Role::kAttnKvB, "m", "m.weight"});
  EXPECT_EQ(absorbed.scheme, nullptr);
  const auto fp8 = decide({}, find_scheme("fp8-block"), {Role::kAttnKvB, "m", "m.weight"});
  EXPECT_NE(fp8.scheme, nullptr);
}

TEST(Rules, MatchRolesModulesAndTensors) {
  for (const char* text :
       {"attn.q=keep",
        "attn.*=keep",
        "model.layers.3.*=keep",
        "*.q_proj=keep",
        "*.q_proj.weight=keep",
        "model.layers.{0..3}.self_attn.{q,k,v}_proj=keep"}) {
    EXPECT_EQ(decide_q(rules({text})).scheme, nullptr) << text;
  }
  for (const char* text : {"attn.k=keep", "mlp.*=keep", "model.layers.4.*=keep", "q_proj=keep"}) {
    EXPECT_NE(decide_q(rules({text})).scheme, nullptr) << text;
  }
}

TEST(Rules, TheLastMatchDecides) {
  EXPECT_EQ(decide_q(rules({"*=nvfp4", "attn.*=keep"})).scheme, nullptr);
  const auto d = decide_q(rules({"attn.*=keep", "*.layers.3.*=fp8-block"}));
  ASSERT_NE(d.scheme, nullptr);
  EXPECT_EQ(d.scheme->name, "fp8-block");
  EXPECT_EQ(d.reason, "rule *.layers.3.*=fp8-block");
}

TEST(Rules, RulesOverrideDefaults) {
  const auto parsed = rules({"lm_head=nvfp4"});
  const auto d = decide(parsed, find_scheme("nvfp4"), {Role::kLmHead, "lm_head", "lm_head.weight"});
  ASSERT_NE(d.scheme, nullptr);
  EXPECT_TRUE(d.explicit_request());
  const auto wide = rules({"lm_*=nvfp4"});
  EXPECT_FALSE(
      decide(wide, nullptr, {Role::kLmHead, "lm_head", "lm_head.weight"}).explicit_request()
  );
}

TEST(Rules, TheSchemeThatWasAskedFor) {
  const auto d = decide_q(rules({"*=keep", "attn.*=scheme"}));
  ASSERT_NE(d.scheme, nullptr);
  EXPECT_EQ(d.scheme->name, "nvfp4");
  EXPECT_EQ(d.reason, "rule attn.*=scheme");
  const auto parsed = rules({"attn.*=scheme"});
  EXPECT_EQ(decide(parsed, nullptr, {Role::kAttnQ, "m", "m.weight"}).scheme, nullptr);
}

TEST(Rules, PresetsAreNamedAndAskForNothingByName) {
  auto parsed = rules({"lm_head=nvfp4"});
  parsed[0].preset = "head";
  const auto d = decide(parsed, nullptr, {Role::kLmHead, "lm_head", "lm_head.weight"});
  EXPECT_EQ(d.reason, "preset head: lm_head=nvfp4");
  EXPECT_FALSE(d.explicit_request());
}

TEST(Rules, WithoutASchemeOnlyRulesQuantize) {
  const auto d = decide({}, nullptr, {Role::kMlpUp, "m", "m.weight"});
  EXPECT_EQ(d.scheme, nullptr);
  EXPECT_EQ(d.reason, "default: no scheme");
}

TEST(Rules, ErrorsNameTheRuleAndWhatIsKnown) {
  EXPECT_THAT(error_of("attn.q"), HasSubstr("expected pattern=format"));
  EXPECT_THAT(error_of("attn.q=int4"), HasSubstr("unknown format \"int4\""));
  EXPECT_THAT(error_of("attn.q=int4"), HasSubstr("mxfp4a16, mxfp8, keep"));
  EXPECT_THAT(error_of("=keep"), HasSubstr("empty pattern"));
}

}  // namespace
}  // namespace hone
