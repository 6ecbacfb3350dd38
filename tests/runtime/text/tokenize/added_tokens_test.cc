#include "runtime/text/tokenize/added_tokens.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

AddedToken token(std::string content, int32_t id) {
  AddedToken out;
  out.content = std::move(content);
  out.id = id;
  return out;
}

std::string split(
    const std::vector<AddedToken>& tokens, std::string_view text, const SpecialRule& rule = {}
) {
  std::vector<std::string> contents;
  for (const AddedToken& t : tokens) contents.push_back(t.content);
  const AddedTokens added(tokens, contents);
  std::vector<TextPart> parts;
  added.split(text, false, rule, parts);
  std::string out;
  for (const TextPart& part : parts) {
    out += (part.id < 0 ? "(" : "<" + std::to_string(part.id) + ":") +
           std::string(text.substr(part.begin, part.end - part.begin)) + (part.id < 0 ? ")" : ">");
  }
  return out;
}

TEST(AddedTokens, LeftmostLongest) {
  const std::vector<AddedToken> tokens = {
      token("ab", 1), token("abc", 2), token("bcd", 3), token("\n\n", 4)};
  EXPECT_EQ(split(tokens, "xabcdab"), "(x)<2:abc>(d)<1:ab>");
  EXPECT_EQ(split(tokens, "\n\n\n"), "<4:\n\n>(\n)");
  EXPECT_EQ(split(tokens, ""), "");
  EXPECT_EQ(split(tokens, "bcd"), "<3:bcd>");
  EXPECT_EQ(split(tokens, "bc"), "(bc)");
}

TEST(AddedTokens, StripTakesWhiteSpace) {
  AddedToken left = token("L", 1);
  left.lstrip = true;
  AddedToken right = token("R", 2);
  right.rstrip = true;
  EXPECT_EQ(
      split({left, right}, "a \n L b R \xE3\x80\x80 c"), "(a)<1: \n L>( b )<2:R \xE3\x80\x80 >(c)"
  );
  EXPECT_EQ(split({left, right}, "R  L"), "<2:R  ><1:L>");
  EXPECT_EQ(split({left, right}, "  L"), "<1:  L>");
}

TEST(AddedTokens, SingleWord) {
  AddedToken word = token("the", 1);
  word.single_word = true;
  EXPECT_EQ(split({word}, "the then bathe the"), "<1:the>( then bathe )<1:the>");
  EXPECT_EQ(
      split({word}, "\xC3\xA9the the\xC3\xA9 (the)"), "(\xC3\xA9the the\xC3\xA9 ()<1:the>())"
  );
}

TEST(AddedTokens, SpecialTokensMayStayText) {
  AddedToken special = token("<|end|>", 1);
  special.special = true;
  const AddedToken plain = token("<tag>", 2);
  SpecialRule rule;
  rule.all_text = true;
  EXPECT_EQ(split({special, plain}, "a<|end|><tag>", rule), "(a<|end|>)<2:<tag>>");
}

TEST(AddedTokens, PlainSpansRefuseOnlyWhatTheyTouch) {
  AddedToken end = token("<|end|>", 1);
  end.special = true;
  AddedToken other = token("|><|", 2);
  other.special = true;
  const std::string text = "<|end|>a<|end|><|end|>";
  const std::vector<std::pair<size_t, size_t>> spans = {{7, 15}};
  SpecialRule rule;
  rule.plain = spans;
  EXPECT_EQ(split({end}, text, rule), "<1:<|end|>>(a<|end|>)<1:<|end|>>");
  // Half typed by the user, half by the template.
  const std::vector<std::pair<size_t, size_t>> half = {{0, 2}};
  rule.plain = half;
  EXPECT_EQ(split({end}, "<|end|><|end|>", rule), "(<|end|>)<1:<|end|>>");
  // A refused token does not hide one that starts inside it.
  EXPECT_EQ(split({end, other}, "<|end|><|", rule), "(<|end)<2:|><|>");
  // Offsets of the original text.
  rule.base = 100;
  const std::vector<std::pair<size_t, size_t>> shifted = {{107, 115}};
  rule.plain = shifted;
  EXPECT_EQ(split({end}, text, rule), "<1:<|end|>>(a<|end|>)<1:<|end|>>");
}

}  // namespace
}  // namespace hone
