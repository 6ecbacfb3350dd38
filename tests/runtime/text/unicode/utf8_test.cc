#include "runtime/text/unicode/utf8.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

// Expected values: bytes.decode("utf-8", errors="replace") of CPython.
TEST(Utf8, InvalidBytesBecomeReplacementCharacters) {
  const std::string r(kReplacementCharacter);
  const std::pair<std::string, std::string> cases[] = {
      {"abc", "abc"},
      {"\x80", r},
      {"\xC3", r},
      {"a\xC3z", "a" + r + "z"},
      {"\xE4\xBD", r},
      {"\xE4\xBD\xE4\xBD\xA0", r + "\xE4\xBD\xA0"},
      {"\xC0\xAF", r + r},
      {"\xED\xA0\x80", r + r + r},
      {"\xF0\x9F\x98", r},
      {"\xF4\x90\x80\x80", r + r + r + r},
      {"\xF8\x88\x80\x80\x80", r + r + r + r + r},
      {"\xE0\x80\x80", r + r + r},
      {"\xF0\x80\x80\x80", r + r + r + r},
      {"\xFF\xFE", r + r},
      {"\xF0\x9F\x98\x80", "\xF0\x9F\x98\x80"},
      {"", ""},
      {"\xE4\xBDz", r + "z"},
      {"\xF0\x9F\xC3\xA9", r + "\xC3\xA9"},
  };
  for (const auto& [bytes, text] : cases) {
    EXPECT_EQ(utf8_replace_invalid(bytes), text);
    EXPECT_EQ(utf8_valid(bytes), bytes == text);
    EXPECT_TRUE(utf8_valid(utf8_replace_invalid(bytes)));
  }
}

TEST(Utf8, EveryCharacterRoundTrips) {
  for (char32_t c = 0; c < 0x110000; c += c < 0x3000 ? 1 : 61) {
    if (c >= 0xD800 && c < 0xE000) continue;
    std::string text;
    utf8_append(text, c);
    ASSERT_TRUE(utf8_valid(text));
    const CodePoint back = utf8_decode(text, 0);
    ASSERT_EQ(back.value, c);
    ASSERT_EQ(back.size, text.size());
    ASSERT_EQ(utf8_size(text[0]), text.size());
    ASSERT_EQ(utf8_previous("x" + text, text.size() + 1), 1U);
    for (size_t cut = 1; cut < text.size(); ++cut) {
      ASSERT_EQ(utf8_incomplete_suffix("x" + text.substr(0, cut)), cut);
    }
    ASSERT_EQ(utf8_incomplete_suffix(text), 0U);
  }
  std::string out;
  utf8_append(out, 0xD800);
  utf8_append(out, 0x110000);
  EXPECT_EQ(out, std::string(kReplacementCharacter) + std::string(kReplacementCharacter));
}

TEST(Utf8, BrokenSuffixIsNotIncomplete) {
  EXPECT_EQ(utf8_incomplete_suffix("\x80\x80\x80"), 0U);
  EXPECT_EQ(utf8_incomplete_suffix("\xE0\x80"), 0U);  // can never become a character
  EXPECT_EQ(utf8_incomplete_suffix("\xED\xA0"), 0U);
  EXPECT_EQ(utf8_incomplete_suffix("\xC0"), 0U);
  EXPECT_EQ(utf8_incomplete_suffix(""), 0U);
}

TEST(Utf8, Classes) {
  EXPECT_TRUE(is_white_space(0x3000));
  EXPECT_FALSE(is_white_space(0x180E));
  EXPECT_FALSE(is_white_space(0x200B));
  EXPECT_TRUE(is_numeric(0xBD));
  EXPECT_TRUE(is_numeric(0x2167));
  EXPECT_FALSE(is_decimal(0xBD));
  EXPECT_TRUE(is_decimal(0x661));
  EXPECT_TRUE(is_word('_'));
  EXPECT_TRUE(is_word(0x4E2D));
  EXPECT_TRUE(is_word(0x301));
  EXPECT_TRUE(is_word(0x200D));
  EXPECT_FALSE(is_word('-'));
  EXPECT_TRUE(is_punctuation('$'));
  EXPECT_TRUE(is_punctuation(0x3002));
  EXPECT_FALSE(is_punctuation(0x20AC));
  EXPECT_FALSE(is_printable(0xAD));
  EXPECT_FALSE(is_printable(0xA0));
  EXPECT_TRUE(is_printable(0x1F600));
}

TEST(Utf8, Case) {
  EXPECT_EQ(utf8_lower("\xC3\x80\xC3\x89 AB\xC4\xB0"), "\xC3\xA0\xC3\xA9 abi\xCC\x87");
  EXPECT_EQ(
      utf8_upper("stra\xC3\x9F"
                 "e \xC3\xA9"),
      "STRASSE \xC3\x89"
  );
  EXPECT_EQ(utf8_length("a\xC3\xA9\xF0\x9F\x98\x80"), 3U);
}

}  // namespace
}  // namespace hone
