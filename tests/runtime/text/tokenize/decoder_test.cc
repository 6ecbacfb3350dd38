// Whole chains against Hugging Face: ../tokenizer_test.cc. Here: what comes out when.
#include "runtime/text/tokenize/decoder.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

Decoder decoder_of(const char* json) {
  return Decoder::read(parse_json(json, "test"), "test");
}

// The text after each token, then after the end, joined by '|'.
std::string steps_of(
    const Decoder& decoder, const std::vector<std::string>& tokens, bool streaming = true
) {
  DecoderRun run(decoder, streaming);
  std::string out;
  for (const std::string& token : tokens) {
    run.push(token);
    out += run.take() + "|";
  }
  run.finish();
  return out + run.take();
}

TEST(Decoder, ByteLevelHoldsIncompleteCharacters) {
  const Decoder decoder = decoder_of(R"({"type": "ByteLevel"})");
  // U+4F60 as E4 BD A0, one byte a token: the characters of the byte alphabet.
  EXPECT_EQ(
      steps_of(decoder, {"a", "\xC3\xA4", "\xC2\xBD", "\xC5\x82", "b"}), "a|||\xE4\xBD\xA0|b|"
  );
  EXPECT_EQ(steps_of(decoder, {"\xC3\xA4", "\xC2\xBD"}), "||\xEF\xBF\xBD");
  EXPECT_EQ(
      steps_of(decoder, {"\xC3\xA4", "b"}),
      "|\xEF\xBF\xBD"
      "b|"
  );
  EXPECT_EQ(steps_of(decoder, {"\xC4\xA0the"}), " the|");
  EXPECT_EQ(steps_of(decoder, {"<\xEF\xBD\x9C>"}), "<\xEF\xBD\x9C>|");  // outside the alphabet
}

TEST(Decoder, ByteFallbackHoldsIncompleteCharacters) {
  const Decoder decoder = decoder_of(
      R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "_"}, "content": " "},
          {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})"
  );
  EXPECT_EQ(steps_of(decoder, {"_a", "<0xE4>", "<0xBD>", "<0xA0>", "_b"}), "a|||\xE4\xBD\xA0| b|");
  EXPECT_EQ(steps_of(decoder, {"<0xE4>", "_b"}), "|\xEF\xBF\xBD b|");
  EXPECT_EQ(steps_of(decoder, {"_", "_", "a"}), "| |a|");  // only the first space goes
  // Broken after a character was complete: streaming keeps the character.
  EXPECT_EQ(steps_of(decoder, {"<0xC3>", "<0xA9>", "<0xFF>", "x"}), "|\xC3\xA9||\xEF\xBF\xBDx|");
  EXPECT_EQ(
      steps_of(decoder, {"<0xC3>", "<0xA9>", "<0xFF>", "x"}, false),
      "|||\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBDx|"
  );
  EXPECT_EQ(steps_of(decoder, {"<0xZZ>", "<0x4>"}), "<0xZZ>|<0x4>|");
}

TEST(Decoder, ReplaceAcrossPartsOfAFusedText) {
  const Decoder decoder = decoder_of(
      R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
          {"type": "Replace", "pattern": {"String": "abc"}, "content": "X"}]})"
  );
  EXPECT_EQ(steps_of(decoder, {"za", "b", "cd", "ab"}), "z||Xd||ab");
  const Decoder regex = decoder_of(
      R"({"type": "Sequence", "decoders": [{"type": "Fuse"},
          {"type": "Replace", "pattern": {"Regex": "b+"}, "content": "X"}]})"
  );
  EXPECT_EQ(steps_of(regex, {"ab", "b", "c"}), "|||aXc");
}

TEST(Decoder, StripHoldsWhatTheEndMayTake) {
  const Decoder decoder = decoder_of(
      R"({"type": "Sequence", "decoders": [{"type": "Fuse"}, {"type": "Strip", "content": "_", "start": 2, "stop": 1}]})"
  );
  EXPECT_EQ(steps_of(decoder, {"_", "__a", "_", "b_"}), "|_a||_b|");
}

TEST(Decoder, NoDecoderJoinsWithSpaces) {
  EXPECT_EQ(steps_of(Decoder::read(Json(), "x"), {"a", "b"}), "a| b|");
}

TEST(Decoder, TokenBytes) {
  const Decoder bytes = decoder_of(R"({"type": "ByteLevel"})");
  EXPECT_EQ(bytes.token_bytes("\xC4\xA0the"), " the");
  EXPECT_EQ(bytes.token_bytes("\xC3\xA4"), "\xE4");
  const Decoder fallback = decoder_of(
      R"({"type": "Sequence", "decoders": [{"type": "Replace", "pattern": {"String": "_"}, "content": " "},
          {"type": "ByteFallback"}, {"type": "Fuse"}, {"type": "Strip", "content": " ", "start": 1, "stop": 0}]})"
  );
  EXPECT_EQ(fallback.token_bytes("<0xE4>"), "\xE4");
  EXPECT_EQ(fallback.token_bytes("_a"), " a");
  EXPECT_EQ(decoder_of(R"({"type": "Metaspace", "replacement": "_"})").token_bytes("_a"), " a");
}

TEST(Decoder, WhatIsNotSupportedIsNamed) {
  using testing::HasSubstr;
  const auto error_of = [](const char* json) -> std::string {
    try {
      decoder_of(json);
    } catch (const DataError& error) {
      return error.what();
    }
    return "none";
  };
  EXPECT_THAT(error_of(R"({"type": "CTC"})"), HasSubstr("decoder CTC"));
  EXPECT_THAT(
      error_of(R"({"type": "Sequence", "decoders": [{"type": "WordPiece"}]})"),
      HasSubstr("WordPiece")
  );
  EXPECT_THAT(
      error_of(R"({"type": "Strip", "content": "ab", "start": 0, "stop": 0})"), HasSubstr("Strip")
  );
  EXPECT_THAT(
      error_of(R"({"type": "Strip", "content": "a", "start": -1, "stop": 0})"), HasSubstr("Strip")
  );
}

}  // namespace
}  // namespace hone
