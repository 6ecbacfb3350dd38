#include "recipes/engine/recipe.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

fs::path write_recipe(const std::string& text) {
  const fs::path path =
      fs::path(::testing::TempDir()) /
      (std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) + ".yaml");
  write_text_file(path, text);
  return path;
}

constexpr const char* kRecipe = R"(name: test
output: out
vars:
  model: ${demo}/model
  count: 3
steps:
  - id: first
    step: fake
    with: {source: "${model}", times: "${count}", text: 7, tags: [a, "${model}"]}
  - id: second
    step: fake
    gate: true
    with:
      source: ${first}/result.txt
      output: renamed
)";

std::string load_error(const std::string& text, const std::vector<std::string>& sets = {}) {
  try {
    Recipe::load(write_recipe(text), sets, {{"demo", "D"}});
  } catch (const UsageError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Recipe, ReferencesAreReplaced) {
  const Recipe recipe = Recipe::load(write_recipe(kRecipe), {}, {{"demo", "D"}});
  EXPECT_EQ(recipe.name, "test");
  EXPECT_EQ(recipe.output, "out");
  ASSERT_EQ(recipe.steps.size(), 2U);
  EXPECT_EQ(recipe.steps[0].with.at("source"), "D/model");
  EXPECT_EQ(recipe.steps[0].with.at("output"), "out/first");
  EXPECT_EQ(recipe.steps[0].with.at("times"), "3");  // quoted: stays a string
  EXPECT_EQ(recipe.steps[0].with.at("text"), 7);
  EXPECT_EQ(recipe.steps[0].with.at("tags"), Json({"a", "D/model"}));
  EXPECT_EQ(recipe.steps[1].with.at("source"), "out/first/result.txt");
  EXPECT_EQ(recipe.steps[1].with.at("output"), "out/renamed");
  EXPECT_FALSE(recipe.steps[0].gate);
  EXPECT_TRUE(recipe.steps[1].gate);
}

TEST(Recipe, SetReplacesVariablesOutputsAndOptions) {
  const Recipe recipe = Recipe::load(
      write_recipe(kRecipe),
      {"model=M", "output=else", "second.times=9", "second.weight=0.25", "second.fail=true"},
      {{"demo", "D"}}
  );
  EXPECT_EQ(recipe.output, "else");
  EXPECT_EQ(recipe.steps[0].with.at("source"), "M");
  EXPECT_EQ(recipe.steps[1].with.at("source"), "else/first/result.txt");
  EXPECT_EQ(recipe.steps[1].with.at("times"), 9);
  EXPECT_EQ(recipe.steps[1].with.at("weight"), 0.25);
  EXPECT_EQ(recipe.steps[1].with.at("fail"), true);
}

TEST(Recipe, MistakesAreNamedWithTheirLine) {
  EXPECT_THAT(load_error(kRecipe, {"modle=M"}), HasSubstr("modle"));
  EXPECT_THAT(load_error(kRecipe, {"model"}), HasSubstr("expected key=value"));
  EXPECT_THAT(load_error("name: [a\n"), HasSubstr(".yaml:"));
  EXPECT_THAT(
      load_error("name: t\noutput: o\nsteps:\n  - id: a\n    stp: fake\n"),
      HasSubstr(":5: unknown key \"stp\"")
  );
  EXPECT_THAT(
      load_error("name: t\noutput: o\nsteps:\n  - id: a\n    step: f\n    with: {x: \"${b}\"}\n"),
      HasSubstr("neither a variable nor an earlier step")
  );
  EXPECT_THAT(
      load_error("name: t\noutput: o\nsteps:\n  - {id: a, step: f}\n  - {id: a, step: f}\n"),
      HasSubstr("already the name")
  );
  EXPECT_THAT(load_error("output: o\nsteps: []\n"), HasSubstr("\"name\" must be a string"));
  EXPECT_THAT(load_error("name: t\noutput: o\nsteps: 3\n"), HasSubstr("must be a list"));
}

}  // namespace
}  // namespace hone
