#include "runtime/text/jinja/text.h"

#include <gtest/gtest.h>

namespace hone::jinja {
namespace {

std::string shown(const Text& text) {
  std::string out = text.bytes;
  for (const Mark& mark : text.marks) {
    out += (mark.kind == MarkKind::kInput ? " i" : " g") + std::to_string(mark.begin) + "-" +
           std::to_string(mark.end);
  }
  return out;
}

TEST(JinjaText, AppendJoinsNeighbours) {
  Text text;
  text.append("ab", true);
  text.append("cd", true);
  text.append("ef");
  text.append("gh", true);
  EXPECT_EQ(shown(text), "abcdefgh i0-4 i6-8");
  Text outer(">");
  outer.append(text);
  EXPECT_EQ(shown(outer), ">abcdefgh i1-5 i7-9");
}

TEST(JinjaText, SliceCutsMarks) {
  Text text;
  text.append("abcd", true);
  text.append("ef");
  text.mark(2, 6, MarkKind::kGeneration);
  EXPECT_EQ(shown(text.slice(1, 5)), "bcde i0-3 g1-4");
  EXPECT_EQ(shown(text.slice(4, 6)), "ef g0-2");
  EXPECT_EQ(shown(text.slice(2, 2)), "");
}

TEST(JinjaText, GenerationSpansStayApart) {
  Text text("abcd");
  text.mark(0, 2, MarkKind::kGeneration);
  text.mark(2, 4, MarkKind::kGeneration);
  text.mark(4, 4, MarkKind::kGeneration);
  EXPECT_EQ(shown(text), "abcd g0-2 g2-4");
  EXPECT_FALSE(text.has_input());
}

}  // namespace
}  // namespace hone::jinja
