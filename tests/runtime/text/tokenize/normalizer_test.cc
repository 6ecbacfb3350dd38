// Whole texts against Hugging Face: ../tokenizer_test.cc. Here: offsets, and each step by itself.
#include "runtime/text/tokenize/normalizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

RewrittenText normalized(const char* json, std::string_view text) {
  const auto normalizer = Normalizer::read(parse_json(json, "test"), "test");
  RegexScratch scratch;
  RewrittenText out;
  out.track = true;
  if (!normalizer->apply(text, scratch, out)) {
    out.clear();
    out.copy(text, 0);
  }
  EXPECT_EQ(out.source.size(), out.text.size());
  return out;
}

TEST(Normalizer, ComposesAndDecomposes) {
  EXPECT_EQ(normalized(R"({"type": "NFC"})", "ae\xCC\x81z").text, "a\xC3\xA9z");
  EXPECT_EQ(normalized(R"({"type": "NFD"})", "a\xC3\xA9z").text, "ae\xCC\x81z");
  EXPECT_EQ(
      normalized(R"({"type": "NFKC"})", "\xEF\xAC\x81 \xC2\xBD \xEF\xBC\xA1").text,
      "fi 1\xE2\x81\x84"
      "2 A"
  );
  EXPECT_EQ(normalized(R"({"type": "NFKD"})", "\xEF\xAC\x81\xC3\xA9").text, "fie\xCC\x81");
  // Hangul, and marks out of order.
  EXPECT_EQ(
      normalized(R"({"type": "NFC"})", "\xE1\x84\x80\xE1\x85\xA1\xE1\x86\xA8").text, "\xEA\xB0\x81"
  );
  EXPECT_EQ(normalized(R"({"type": "NFD"})", "x\xCC\x87\xCC\xA3").text, "x\xCC\xA3\xCC\x87");
  EXPECT_EQ(
      normalized(R"({"type": "NFC"})", "plain \xE4\xBD\xA0\xE5\xA5\xBD").text,
      "plain \xE4\xBD\xA0\xE5\xA5\xBD"
  );
}

TEST(Normalizer, OffsetsPointIntoTheInput) {
  const auto out = normalized(R"({"type": "NFC"})", "ae\xCC\x81z");
  EXPECT_EQ(out.source, (std::vector<uint32_t>{0, 1, 1, 4}));
  const auto both = normalized(
      R"({"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "_"},
          {"type": "Replace", "pattern": {"String": " "}, "content": "__"}]})",
      "a b"
  );
  EXPECT_EQ(both.text, "_a__b");
  EXPECT_EQ(both.source, (std::vector<uint32_t>{0, 0, 1, 1, 2}));
  const auto stripped =
      normalized(R"({"type": "Strip", "strip_left": true, "strip_right": true})", " \xC2\xA0x ");
  EXPECT_EQ(stripped.text, "x");
  EXPECT_EQ(stripped.source, (std::vector<uint32_t>{3}));
}

TEST(Normalizer, SmallSteps) {
  EXPECT_EQ(
      normalized(R"({"type": "Lowercase"})", "ABC \xC3\x89 \xC4\xB0").text, "abc \xC3\xA9 i\xCC\x87"
  );
  EXPECT_EQ(normalized(R"({"type": "StripAccents"})", "e\xCC\x81").text, "e");
  EXPECT_EQ(normalized(R"({"type": "Prepend", "prepend": "x"})", "").text, "");
  EXPECT_EQ(
      normalized(R"({"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "})", "a \n b")
          .text,
      "a b"
  );
  EXPECT_EQ(normalized(R"({"type": "ByteLevel"})", "a \xC3\xA9").text, "a\xC4\xA0\xC3\x83\xC2\xA9");
}

TEST(Normalizer, WhatIsNotSupportedIsNamed) {
  const auto error_of = [](const char* json) -> std::string {
    try {
      Normalizer::read(parse_json(json, "test"), "tokenizer.json");
    } catch (const DataError& error) {
      return error.what();
    }
    return "none";
  };
  using testing::HasSubstr;
  EXPECT_THAT(
      error_of(R"({"type": "Precompiled"})"), HasSubstr("tokenizer.json: normalizer Precompiled")
  );
  EXPECT_THAT(
      error_of(R"({"type": "Sequence", "normalizers": [{"type": "Nmt"}]})"), HasSubstr("Nmt")
  );
  EXPECT_THAT(error_of(R"({"type": "Sequence", "normalizers": 5})"), HasSubstr("normalizers"));
  EXPECT_THAT(error_of(R"({"type": "Replace", "content": ""})"), HasSubstr("pattern"));
  EXPECT_THAT(
      error_of(R"({"type": "Replace", "pattern": {"Glob": "x"}, "content": ""})"), HasSubstr("Glob")
  );
  EXPECT_THAT(error_of(R"({"kind": "NFC"})"), HasSubstr("type"));
  EXPECT_EQ(Normalizer::read(Json(), "x"), nullptr);
}

}  // namespace
}  // namespace hone
