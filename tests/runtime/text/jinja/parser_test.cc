#include "runtime/text/jinja/parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/text/jinja/lexer.h"

namespace hone::jinja {
namespace {

std::string fault_of(const std::string& source) {
  try {
    parse_template(source);
  } catch (const SyntaxFault& fault) {
    return std::to_string(fault.line) + " " + fault.message;
  }
  return "none";
}

std::string repeated(std::string_view text, int times) {
  std::string out;
  for (int i = 0; i < times; ++i) out += text;
  return out;
}

TEST(Parser, PrecedenceShowsInTheTree) {
  const auto program = parse_template("{{ not a == 1 + 2 * -x|f ~ y and b or c if d else e }}");
  const Expr& choice = *program->body[0]->expr;
  ASSERT_EQ(choice.kind, ExprKind::kCondition);
  const Expr& either = *choice.children[1];
  ASSERT_EQ(either.kind, ExprKind::kOr);
  const Expr& both = *either.children[0];
  ASSERT_EQ(both.kind, ExprKind::kAnd);
  ASSERT_EQ(both.children[0]->kind, ExprKind::kNot);
  const Expr& compare = *both.children[0]->children[0];
  ASSERT_EQ(compare.kind, ExprKind::kCompare);
  const Expr& sum = *compare.children[1];
  ASSERT_EQ(sum.kind, ExprKind::kBinary);
  EXPECT_EQ(sum.op, Op::kAdd);
  const Expr& concat = *sum.children[1];  // ~ binds tighter than +
  ASSERT_EQ(concat.kind, ExprKind::kConcat);
  const Expr& product = *concat.children[0];
  EXPECT_EQ(product.op, Op::kMultiply);
  const Expr& filter = *product.children[1];  // a filter takes the negated operand
  ASSERT_EQ(filter.kind, ExprKind::kFilter);
  EXPECT_EQ(filter.children[0]->kind, ExprKind::kUnary);
}

TEST(Parser, NestingIsLimited) {
  EXPECT_THAT(
      fault_of("{{ " + repeated("(", 3000) + "1" + repeated(")", 3000) + " }}"),
      testing::HasSubstr("nested deeper")
  );
  EXPECT_THAT(
      fault_of("{{ " + repeated("[", 3000) + repeated("]", 3000) + " }}"),
      testing::HasSubstr("nested deeper")
  );
  EXPECT_THAT(
      fault_of("{{ " + repeated("not ", 3000) + "1 }}"), testing::HasSubstr("nested deeper")
  );
  EXPECT_THAT(fault_of("{{ " + repeated("-", 3000) + "1 }}"), testing::HasSubstr("nested deeper"));
  EXPECT_THAT(
      fault_of("{{ 1" + repeated(" if 1 else 1", 3000) + " }}"), testing::HasSubstr("nested deeper")
  );
  EXPECT_THAT(fault_of("{{ 1" + repeated("+1", 3000) + " }}"), testing::HasSubstr("chained"));
  EXPECT_THAT(fault_of("{{ x" + repeated(".x", 3000) + " }}"), testing::HasSubstr("chained"));
  EXPECT_THAT(fault_of("{{ x" + repeated("|f", 3000) + " }}"), testing::HasSubstr("chained"));
  EXPECT_THAT(fault_of("{{ x" + repeated("()", 3000) + " }}"), testing::HasSubstr("chained"));
  EXPECT_THAT(fault_of(repeated("{% if 1 %}", 3000)), testing::HasSubstr("nested deeper"));
  EXPECT_THAT(fault_of("{% for " + repeated("(", 3000) + "a"), testing::HasSubstr("inside a tag"));
  EXPECT_THAT(
      fault_of("{% for " + repeated("(", 3000) + "a" + repeated(")", 3000) + " in b %}"),
      testing::HasSubstr("nested deeper")
  );
  // What real templates hold is far below.
  EXPECT_EQ(fault_of("{{ " + repeated("(", 40) + "1" + repeated(")", 40) + " }}"), "none");
  EXPECT_EQ(fault_of("{{ 'x'" + repeated(" + 'x'", 200) + " }}"), "none");
  std::string branches = "{% if 0 %}";
  EXPECT_EQ(fault_of(branches + repeated("{% elif 1 %}", 2000) + "{% endif %}"), "none");
}

TEST(Parser, Faults) {
  EXPECT_EQ(
      fault_of("{% if x %}\n{% for y in z %}\n{% endif %}"),
      "3 tag 'endif' is not known or not supported in chat templates (if, for, set, macro, "
      "call, filter, with, generation, break, continue, raw are)"
  );
  EXPECT_THAT(fault_of("{% endif %}"), testing::HasSubstr("unexpected tag"));
  EXPECT_EQ(fault_of("{% for x of y %}"), "1 expected 'in', got 'of'");
  EXPECT_EQ(fault_of("{% set true = 1 %}"), "1 can't assign to 'true'");
  EXPECT_EQ(
      fault_of("{% macro m(a=1, b) %}{% endmacro %}"),
      "1 non-default argument follows default argument"
  );
  EXPECT_EQ(fault_of("{% call x %}{% endcall %}"), "1 expected a call after {% call %}");
  EXPECT_EQ(fault_of("{{ f(a=1, 2) }}"), "1 positional argument after a named one");
  EXPECT_EQ(fault_of("{% continue %}"), "1 'continue' outside a loop");
  EXPECT_EQ(
      fault_of("{% for x in y %}{% macro m() %}{% break %}{% endmacro %}{% endfor %}"),
      "1 'break' outside a loop"
  );
  EXPECT_EQ(fault_of("{{ x y }}"), "1 expected '}}', got 'y'");
  EXPECT_EQ(fault_of("\xFF"), "1 template is not valid UTF-8");
  EXPECT_EQ(
      fault_of("{{ 99999999999999999999999999999999999999999 }}"),
      "1 number 99999999999999999999999999999999999999999 is too large"
  );
}

TEST(Parser, MacroNeedsAreFound) {
  const auto program = parse_template(
      "{% macro a() %}{{ kwargs }}{% macro b() %}{{ varargs }}{% endmacro %}{% endmacro %}"
      "{% macro c() %}{{ caller() }}{% endmacro %}"
  );
  EXPECT_TRUE(program->body[0]->needs.kwargs);
  EXPECT_TRUE(program->body[0]->needs.varargs);
  EXPECT_FALSE(program->body[0]->needs.caller);
  EXPECT_TRUE(program->body[1]->needs.caller);
  EXPECT_FALSE(program->body[1]->needs.kwargs);
}

}  // namespace
}  // namespace hone::jinja
