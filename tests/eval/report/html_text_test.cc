#include "eval/report/html_text.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(EscapeHtml, MarkupAndControlCharacters) {
  EXPECT_EQ(escape_html("<a href=\"x\">'&'"), "&lt;a href=&quot;x&quot;&gt;&#39;&amp;&#39;");
  EXPECT_EQ(escape_html("tab\tline\n"), "tab\tline\n");
  EXPECT_EQ(escape_html(std::string("\0\x1b\x7f", 3)), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(escape_html("\xC3\xA4"), "\xC3\xA4");
}

TEST(EscapeScriptJson, CannotEndTheElement) {
  EXPECT_EQ(escape_script_json(R"({"a":"</script>"})"), R"({"a":"\u003c/script>"})");
}

TEST(MarkDifference, AtACharacterBoundary) {
  const MarkedPair ascii = mark_difference("abcd", "abXd");
  EXPECT_EQ(ascii.left, "ab<mark>cd</mark>");
  EXPECT_EQ(ascii.right, "ab<mark>Xd</mark>");
  // U+00E4 and U+00E9 share their first byte.
  const MarkedPair umlaut = mark_difference("x\xC3\xA4", "x\xC3\xA9");
  EXPECT_EQ(umlaut.left, "x<mark>\xC3\xA4</mark>");
  EXPECT_EQ(umlaut.right, "x<mark>\xC3\xA9</mark>");
  const MarkedPair shorter = mark_difference("ab", "abc");
  EXPECT_EQ(shorter.left, "ab");
  EXPECT_EQ(shorter.right, "ab<mark>c</mark>");
  const MarkedPair cut = mark_difference("x\xC3\xA4", "x\xC3");
  EXPECT_EQ(cut.left, "x<mark>\xC3\xA4</mark>");
  const MarkedPair same = mark_difference("<a", "<a");
  EXPECT_EQ(same.left, "&lt;a");
  EXPECT_EQ(mark_difference("", "").right, "");
}

}  // namespace
}  // namespace hone
