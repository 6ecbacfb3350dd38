#include "recipes/engine/step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/recipes/engine/fake_step.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

std::string usage_error(const Json& values) {
  FakeStep step;
  try {
    set_fields(step, values, "step \"a\"");
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Step, FieldsAreSetByName) {
  FakeStep step;
  set_fields(
      step,
      {{"source", "in"},
       {"output", "out"},
       {"text", "abc"},
       {"times", 3},
       {"weight", 2},
       {"fail", true},
       {"tags", {"a", "b"}}},
      "test"
  );
  EXPECT_EQ(step.source, "in");
  EXPECT_EQ(step.output, "out");
  EXPECT_EQ(step.text, "abc");
  EXPECT_EQ(step.times, 3);
  EXPECT_EQ(step.weight, 2.0);
  EXPECT_TRUE(step.fail);
  EXPECT_EQ(step.tags, (std::vector<std::string>{"a", "b"}));
}

TEST(Step, MissingFieldsKeepTheirDefaults) {
  FakeStep step;
  set_fields(step, {{"times", 2}}, "test");
  EXPECT_EQ(step.text, "x");
  EXPECT_EQ(step.weight, 0.5);
}

TEST(Step, WrongKeysAndTypesAreNamed) {
  EXPECT_THAT(usage_error({{"tmes", 3}}), HasSubstr("unknown key \"tmes\""));
  EXPECT_THAT(usage_error({{"tmes", 3}}), HasSubstr("times"));
  EXPECT_THAT(usage_error({{"times", "three"}}), HasSubstr("\"times\" must be an integer"));
  EXPECT_THAT(usage_error({{"weight", "x"}}), HasSubstr("\"weight\" must be a number"));
  EXPECT_THAT(usage_error({{"fail", 1}}), HasSubstr("\"fail\" must be true or false"));
  EXPECT_THAT(usage_error({{"tags", {1, 2}}}), HasSubstr("\"tags\" must be a list of strings"));
  EXPECT_THAT(usage_error({{"text", 5}}), HasSubstr("\"text\" must be a string"));
  EXPECT_THAT(usage_error(Json::array()), HasSubstr("expected a mapping"));
}

TEST(Step, OptionsAndPathsAreSeparated) {
  FakeStep step;
  step.source = "in";
  step.output = "out";
  const Json options = option_values(step);
  EXPECT_FALSE(options.contains("source"));
  EXPECT_FALSE(options.contains("output"));
  EXPECT_EQ(options.at("times"), 1);
  ASSERT_EQ(input_paths(step).size(), 1U);
  EXPECT_EQ(input_paths(step)[0].name, "source");
  EXPECT_EQ(input_paths(step)[0].path, "in");
  EXPECT_EQ(output_path(step), "out");
}

TEST(Step, InputsCanBeMapped) {
  FakeStep step;
  step.source = "hub/name";
  map_inputs(step, [](std::string_view name, const std::string& path) {
    return std::string(name) + ":" + path;
  });
  EXPECT_EQ(step.source, "source:hub/name");
}

}  // namespace
}  // namespace hone
