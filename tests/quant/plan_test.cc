#include "quant/plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

PlanEntry entry(const std::string& module, int64_t bytes, const Scheme* scheme = nullptr) {
  PlanEntry e;
  e.tensor = module + ".weight";
  e.module = module;
  e.role = Role::kMlpUp;
  e.dtype = DType::kBF16;
  e.shape = Shape{64, 32};
  e.scheme = scheme;
  e.selectable = scheme != nullptr;
  e.method = scheme != nullptr ? "rtn" : "";
  e.reason = "test";
  e.source_bytes = 64 * 32 * 2;
  e.output_bytes = bytes;
  return e;
}

std::vector<std::string> names_in(const std::string& table) {
  std::vector<std::string> names;
  size_t begin = table.find('\n') + 1;
  while (begin < table.size() && table[begin] != '\n') {
    const size_t end = table.find('\n', begin);
    names.push_back(table.substr(begin, table.find("  ", begin) - begin));
    begin = end + 1;
  }
  return names;
}

TEST(Plan, RowsThatDifferInNumbersOnlyAreMerged) {
  Plan plan;
  for (int layer : {0, 1, 2, 5}) {
    for (int expert = 0; expert < 3; ++expert) {
      plan.entries.push_back(entry(
          "m.layers." + std::to_string(layer) + ".experts." + std::to_string(expert) + ".up", 4096
      ));
    }
  }
  EXPECT_THAT(
      names_in(plan_table(plan)), ::testing::ElementsAre("m.layers.{0-2,5}.experts.{0-2}.up")
  );
  EXPECT_EQ(names_in(plan_table(plan, true)).size(), 12U);
}

TEST(Plan, MergedNamesAreExactProducts) {
  Plan plan;
  // Expert 1 of layer 0 is missing: the two layers must not be printed as one product.
  for (const char* name : {"l.0.e.0", "l.0.e.2", "l.1.e.0", "l.1.e.1", "l.1.e.2"}) {
    plan.entries.push_back(entry(name, 4096));
  }
  EXPECT_THAT(names_in(plan_table(plan)), ::testing::ElementsAre("l.0.e.{0,2}", "l.1.e.{0-2}"));
}

TEST(Plan, RowsWithDifferentDecisionsStayApart) {
  Plan plan;
  const Scheme* nvfp4 = find_scheme("nvfp4");
  plan.entries.push_back(entry("l.0.up", 4096));
  plan.entries.push_back(entry("l.1.up", 1160, nvfp4));
  plan.entries.push_back(entry("l.2.up", 1160, nvfp4));
  EXPECT_THAT(names_in(plan_table(plan)), ::testing::ElementsAre("l.0.up", "l.{1-2}.up"));
}

TEST(Plan, SizesCountScalesAndTheWholeFile) {
  Plan plan;
  plan.entries.push_back(entry("a", 4096));
  plan.entries.push_back(entry("b", 1160, find_scheme("nvfp4")));
  const PlanSize size = plan_size(plan);
  EXPECT_EQ(size.source_bytes, 8192);
  EXPECT_EQ(size.output_bytes, 5256);
  EXPECT_EQ(size.quantized_modules, 1);
  EXPECT_EQ(size.kept_modules, 1);
  EXPECT_DOUBLE_EQ(size.selectable_bits, 8.0 * 1160 / 2048);
  EXPECT_DOUBLE_EQ(size.file_bits, 8.0 * 5256 / 4096);
  EXPECT_DOUBLE_EQ(plan.entries[1].bits(), 8.0 * 1160 / 2048);
}

TEST(Plan, AnEmptyPlanPrints) {
  const Plan plan;
  EXPECT_THAT(plan_table(plan), ::testing::HasSubstr("0 of 0 linear modules quantized"));
  EXPECT_EQ(plan_json(plan)["tensors"].size(), 0U);
}

TEST(Plan, WarningsAndBudgetAreShown) {
  Plan plan;
  plan.entries.push_back(entry("a", 1160, find_scheme("nvfp4")));
  plan.warnings.push_back({"sglang", true, "too odd"});
  plan.budget = PlanBudget{5.0, 4.9, 0.001, true};
  const std::string table = plan_table(plan);
  EXPECT_THAT(table, ::testing::HasSubstr("warning: sglang refuses this: too odd"));
  EXPECT_THAT(table, ::testing::HasSubstr("budget: 5.000 bits asked, 4.900 achieved"));
  const Json json = plan_json(plan);
  EXPECT_EQ(json["budget"]["requested_bits"], 5.0);
  EXPECT_EQ(json["warnings"][0]["engine"], "sglang");
}

}  // namespace
}  // namespace hone
