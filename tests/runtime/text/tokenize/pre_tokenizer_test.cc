// Patterns against Hugging Face; goldens by tests/golden/scripts/tokenizer_golden.py.
#include "runtime/text/tokenize/pre_tokenizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/runtime/text/golden_text.h"

namespace hone {
namespace {

std::string pieces_of(const char* json, std::string_view text, bool raw_bytes = false) {
  const auto loaded = PreTokenizer::read(parse_json(json, "test"), "test", raw_bytes);
  EXPECT_EQ(loaded.raw_bytes, raw_bytes);
  PieceList list;
  list.track = true;
  list.pieces.push_back({text, nullptr, 100, true});
  loaded.steps->apply(list);
  std::string out;
  for (const Piece& piece : list.pieces) {
    const size_t at = piece.source == nullptr ? piece.origin : *piece.source;
    out += "[" + std::string(piece.text) + "@" + std::to_string(at - 100) + "]";
  }
  return out;
}

TEST(PreTokenizer, PatternsSplitAsOnigurumaDoes) {
  const Json golden = golden_text("tokenizer_patterns.json");
  const std::string text = golden["text"];
  for (const Json& entry : golden["patterns"]) {
    const std::string pattern = entry["pattern"];
    SCOPED_TRACE(pattern);
    const Json json = {
        {"type", "Split"},
        {"pattern", {{"Regex", pattern}}},
        {"behavior", "Isolated"},
        {"invert", false}};
    if (entry.contains("error")) {
      EXPECT_ANY_THROW(PreTokenizer::read(json, "test", false));
      continue;
    }
    PreTokenizer::Loaded loaded;
    ASSERT_NO_THROW(loaded = PreTokenizer::read(json, "test", false));
    PieceList list;
    list.pieces.push_back({text});
    loaded.steps->apply(list);
    std::vector<std::string> pieces;
    for (const Piece& piece : list.pieces) pieces.emplace_back(piece.text);
    EXPECT_EQ(pieces, entry["pieces"].get<std::vector<std::string>>());
  }
}

TEST(PreTokenizer, PiecesKnowWhereTheyComeFrom) {
  EXPECT_EQ(
      pieces_of(R"({"type": "Metaspace", "replacement": "_", "prepend_scheme": "always"})", "a b"),
      "[_a@0][_b@1]"
  );
  EXPECT_EQ(
      pieces_of(R"({"type": "Metaspace", "replacement": "_", "add_prefix_space": false})", "a b"),
      "[a@0][_b@1]"
  );
  EXPECT_EQ(
      pieces_of(R"({"type": "ByteLevel", "add_prefix_space": true})", "a b"),
      "[\xC4\xA0"
      "a@0][\xC4\xA0"
      "b@1]"
  );
  EXPECT_EQ(
      pieces_of(R"({"type": "ByteLevel", "add_prefix_space": false})", "a b", true), "[a@0][ b@1]"
  );
  EXPECT_EQ(pieces_of(R"({"type": "Whitespace"})", "ab, c"), "[ab@0][,@2][c@4]");
  EXPECT_EQ(
      pieces_of(R"({"type": "Digits", "individual_digits": true})", "a12"), "[a@0][1@1][2@2]"
  );
  EXPECT_EQ(pieces_of(R"({"type": "Digits"})", "a12b"), "[a@0][12@1][b@3]");
}

TEST(PreTokenizer, WhatIsNotSupportedIsNamed) {
  const auto error_of = [](const char* json) -> std::string {
    try {
      PreTokenizer::read(parse_json(json, "test"), "tokenizer.json", false);
    } catch (const DataError& error) {
      return error.what();
    }
    return "none";
  };
  using testing::HasSubstr;
  EXPECT_THAT(
      error_of(R"({"type": "UnicodeScripts"})"),
      HasSubstr("tokenizer.json: pre_tokenizer UnicodeScripts")
  );
  EXPECT_THAT(
      error_of(R"({"type": "Sequence", "pretokenizers": [{"type": "New"}]})"), HasSubstr("New")
  );
  EXPECT_THAT(error_of(R"({"type": "Sequence", "pretokenizers": [1]})"), HasSubstr("no object"));
  EXPECT_THAT(
      error_of(R"({"type": "Split", "pattern": {"String": "a"}, "behavior": "Odd"})"),
      HasSubstr("Odd")
  );
  EXPECT_THAT(error_of(R"({"type": "Split", "behavior": "Isolated"})"), HasSubstr("pattern"));
  EXPECT_THAT(
      error_of(R"({"type": "Metaspace", "replacement": "ab"})"), HasSubstr("one character")
  );
  EXPECT_THAT(error_of(R"({"type": "Metaspace", "prepend_scheme": "odd"})"), HasSubstr("odd"));
  EXPECT_THAT(
      error_of(R"({"type": "CharDelimiterSplit", "delimiter": ""})"), HasSubstr("one character")
  );
}

}  // namespace
}  // namespace hone
