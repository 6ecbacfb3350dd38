#include "runtime/text/jinja/interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/text/jinja/parser.h"

namespace hone::jinja {
namespace {

using testing::HasSubstr;

std::string fault_of(const std::string& text, const Limits& limits) {
  Interpreter interpreter(parse_template(text), limits);
  try {
    interpreter.render();
  } catch (const Fault& fault) {
    return fault.what();
  }
  return "none";
}

TEST(Interpreter, StepsAreLimited) {
  Limits limits;
  limits.steps = 10'000;
  EXPECT_THAT(
      fault_of(
          "{% for a in range(999) %}{% for b in range(999) %}{% endfor %}{% endfor %}", limits
      ),
      HasSubstr("more than 10000 steps")
  );
  EXPECT_EQ(fault_of("{% for a in range(99) %}{{ a }}{% endfor %}", limits), "none");
}

TEST(Interpreter, OutputIsLimited) {
  Limits limits;
  limits.output_bytes = 1000;
  EXPECT_THAT(
      fault_of("{% for a in range(999) %}ab{% endfor %}", limits), HasSubstr("output is longer")
  );
  EXPECT_THAT(
      fault_of("{% for a in range(999) %}{{ a }}{% endfor %}", limits),
      HasSubstr("output is longer")
  );
  EXPECT_THAT(fault_of("{% set x = 'x' * 1001 %}", limits), HasSubstr("string"));
  EXPECT_THAT(
      fault_of("{% set x %}{% for a in range(999) %}ab{% endfor %}{% endset %}", limits),
      HasSubstr("longer")
  );
}

TEST(Interpreter, MemoryIsLimited) {
  Limits limits;
  limits.total_bytes = 100'000;
  for (const char* text :
       {"{% for a in range(9999) %}{% set x = 'x' * 100 %}{% endfor %}",
        "{% set l = [] %}{% for a in range(999) %}{% set _ = l.append([a, a, a]) %}{% endfor %}",
        "{% set ns = namespace(l=[1]) %}{% for a in range(30) %}{% set ns.l = ns.l + ns.l %}"
        "{% endfor %}",
        "{{ ('ab' * 3000)|list|length }}",
        "{{ ('a,' * 3000).split(',')|length }}",
        "{{ ('a' * 300).replace('', 'b' * 900) }}",
        "{% set d = {} %}{% for a in range(999) %}{% set _ = d.update({a: 'x' * 50}) %}{% endfor "
        "%}"}) {
    EXPECT_THAT(fault_of(text, limits), HasSubstr("bytes of values")) << text;
  }
}

TEST(Interpreter, DepthIsLimited) {
  EXPECT_THAT(
      fault_of(
          "{% macro a() %}{{ b() }}{% endmacro %}{% macro b() %}{{ a() }}{% endmacro %}"
          "{{ a() }}",
          Limits{}
      ),
      HasSubstr("recursion")
  );
  EXPECT_THAT(
      fault_of("{% for n in [1] recursive %}{{ loop([1]) }}{% endfor %}", Limits{}),
      HasSubstr("recursion")
  );
  // Values nested by the program: printing, comparing and destroying them must not recurse forever.
  const std::string deep =
      "{% set ns = namespace(l=[]) %}{% for i in range(20000) %}"
      "{% set ns.l = [ns.l] %}{% endfor %}";
  EXPECT_THAT(fault_of(deep + "{{ ns.l }}", Limits{}), HasSubstr("nested"));
  EXPECT_THAT(fault_of(deep + "{{ ns.l|tojson }}", Limits{}), HasSubstr("nested"));
  EXPECT_THAT(fault_of(deep + "{% set m = [ns.l] %}{{ m == [[ns.l[0]]] }}", Limits{}), "none");
}

TEST(Interpreter, ChainsOfEveryKindAreDestroyed) {
  for (const char* value :
       {"[ns.v]",
        "(ns.v,)",
        "{'k': ns.v}",
        "[ns.v].append",
        "{'k': ns.v}.values()",
        "[ns.v]|select('defined')",
        "namespace(v=ns.v)",
        "cycler(ns.v)"}) {
    const std::string text =
        "{% set ns = namespace(v=()) %}{% for i in range(5000) %}"
        "{% set ns.v = " +
        std::string(value) + " %}{% endfor %}";
    EXPECT_EQ(fault_of(text, Limits{}), "none") << value;
  }
  EXPECT_EQ(
      fault_of(
          "{% set ns = namespace(v=()) %}{% for i in range(5000) %}{% for x in [ns.v] %}"
          "{% set ns.v = loop %}{% endfor %}{% endfor %}",
          Limits{}
      ),
      "none"
  );
}

TEST(Interpreter, LineOfTheFault) {
  Interpreter interpreter(
      parse_template("a\n{{ 1 }}\n{% if true %}\n{{ 1 + none }}{% endif %}"), {}
  );
  EXPECT_THROW(interpreter.render(), Fault);
  EXPECT_EQ(interpreter.line(), 4);
}

TEST(Interpreter, GlobalsThatAreNotUsedAreDropped) {
  Interpreter interpreter(parse_template("{{ x }}{{ y is defined }}"), {});
  interpreter.set_global("x", Value(3));
  interpreter.set_global("never", Value(4));
  EXPECT_EQ(interpreter.render().bytes, "3False");
}

}  // namespace
}  // namespace hone::jinja
