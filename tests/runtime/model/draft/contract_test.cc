#include "runtime/model/draft/contract.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixture/toy_target.h"

namespace hone {
namespace {

using testing::HasSubstr;

DraftContract example() {
  DraftContract contract;
  contract.taps = {0, 2, 4};
  contract.draft_vocab = 20;
  contract.vocabulary_map_hash = hash_vocabulary_map({1, 5});
  contract.target = {"content", "base", 50, 32, 6};
  return contract;
}

std::string refusal(const DraftContract& contract, const TargetIdentity& target) {
  try {
    check_contract(contract, target, false, "head/config.json");
  } catch (const DataError& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Contract, ComesBackFromJson) {
  const DraftContract contract = example();
  const DraftContract parsed = DraftContract::parse(contract.to_json(), "x");
  EXPECT_EQ(parsed.to_json(), contract.to_json());
  EXPECT_EQ(parsed.taps, contract.taps);
  EXPECT_EQ(parsed.target.base_hash, "base");
}

TEST(Contract, MissingAndIllTypedFieldsAreNamed) {
  for (const char* field :
       {"version",
        "kind",
        "taps",
        "taps_normalized",
        "feedback_normalized",
        "token_shift",
        "position_offset",
        "mask_shift",
        "draft_vocab",
        "vocabulary_map_hash",
        "target"}) {
    Json document = example().to_json();
    document.erase(field);
    try {
      DraftContract::parse(document, "head/config.json");
      ADD_FAILURE() << field;
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr(field));
      EXPECT_THAT(error.what(), HasSubstr("head/config.json"));
    }
  }
  Json document = example().to_json();
  document["taps"] = Json::array({0, "two"});
  EXPECT_THROW(DraftContract::parse(document, "x"), DataError);
  EXPECT_THROW(DraftContract::parse(Json(3), "x"), DataError);
}

TEST(Contract, FitsItsTargetAndVariantsOfTheSameBase) {
  const DraftContract contract = example();
  EXPECT_EQ(check_contract(contract, contract.target, false, "x"), TargetFit::kExact);
  TargetIdentity quantized = contract.target;
  quantized.content_hash = "another";
  EXPECT_EQ(check_contract(contract, quantized, false, "x"), TargetFit::kSameBase);
}

TEST(Contract, RefusesAnotherModelUnlessAskedTo) {
  const DraftContract contract = example();
  TargetIdentity other = contract.target;
  other.content_hash = "another";
  other.base_hash = "fine-tuned";
  EXPECT_THAT(refusal(contract, other), HasSubstr("--allow-other-target"));
  EXPECT_EQ(check_contract(contract, other, true, "x"), TargetFit::kOther);
  // Sizes are no matter of choice.
  other.vocab = 51;
  EXPECT_THROW(check_contract(contract, other, true, "x"), DataError);
}

TEST(Contract, RefusesEveryOtherConvention) {
  struct Case {
    const char* field;
    std::function<void(DraftContract&)> change;
  };
  const Case cases[] = {
      {"version", [](DraftContract& c) { c.version = 2; }},
      {"kind", [](DraftContract& c) { c.kind = "eagle1"; }},
      {"taps_normalized", [](DraftContract& c) { c.taps_normalized = true; }},
      {"feedback_normalized", [](DraftContract& c) { c.feedback_normalized = true; }},
      {"token_shift", [](DraftContract& c) { c.token_shift = 0; }},
      {"position_offset", [](DraftContract& c) { c.position_offset = 1; }},
      {"mask_shift", [](DraftContract& c) { c.mask_shift = 1; }},
      {"vocabulary", [](DraftContract& c) { c.target.vocab = 49; }},
      {"hidden", [](DraftContract& c) { c.target.hidden = 31; }},
      {"layers", [](DraftContract& c) { c.target.layers = 7; }},
  };
  for (const Case& c : cases) {
    DraftContract contract = example();
    c.change(contract);
    EXPECT_THAT(refusal(contract, example().target), HasSubstr(c.field));
    EXPECT_THAT(refusal(contract, example().target), HasSubstr("head/config.json"));
  }
}

TEST(Contract, IdentityFollowsTheEmbedding) {
  const fixture::ToyTarget a(1);
  const fixture::ToyTarget b(2);
  const TargetIdentity identity = identify_target(a, a.embedding_table());
  EXPECT_EQ(identity.vocab, 24);
  EXPECT_EQ(identity.hidden, 16);
  EXPECT_EQ(identity.layers, 6);
  EXPECT_EQ(identity.content_hash, "toy 1");
  EXPECT_EQ(identity.base_hash, identify_target(a, a.embedding_table()).base_hash);
  EXPECT_NE(identity.base_hash, identify_target(b, b.embedding_table()).base_hash);
  Tensor changed = a.embedding_table();
  changed.as<float>()[24 * 16 - 1] += 1e-6F;
  EXPECT_NE(identity.base_hash, identify_target(a, changed).base_hash);
}

TEST(Contract, MapHashKnowsTheOrder) {
  EXPECT_NE(hash_vocabulary_map({1, 2}), hash_vocabulary_map({2, 1}));
  EXPECT_NE(hash_vocabulary_map({1, 2}), hash_vocabulary_map({1, 2, 3}));
}

}  // namespace
}  // namespace hone
