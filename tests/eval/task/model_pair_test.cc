#include "eval/task/model_pair.h"

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "tests/eval/task/demo.h"

namespace hone {
namespace {

TEST(DescribeModel, NamesFormatsAndSize) {
  const ModelInfo info = describe_model(demo_model());
  EXPECT_EQ(info.name, "demo");
  EXPECT_EQ(info.architecture, "LlamaForCausalLM");
  EXPECT_EQ(info.formats, "BF16");
  EXPECT_EQ(info.hash, demo_model().model->content_hash());
  EXPECT_GT(info.weight_bytes, 10'000'000);
  EXPECT_LT(info.weight_bytes, 10'498'464);
  EXPECT_EQ(describe_model(demo_model(), "mine").name, "mine");
}

TEST(DescribeMismatch, PointsAtTheFirstDifference) {
  const ModelPair models{demo_model(), demo_model()};
  const std::vector<int32_t> a = {5, 6, 7};
  const std::vector<int32_t> b = {5, 8, 7};
  EXPECT_EQ(describe_mismatch(a, a, models), "");
  const std::string text = describe_mismatch(a, b, models);
  EXPECT_EQ(text.rfind("token 1 is 6 (", 0), 0U) << text;
  EXPECT_NE(text.find("8 ("), std::string::npos) << text;
  const std::vector<int32_t> shorter = {5, 6};
  EXPECT_NE(describe_mismatch(a, shorter, models).find("the end"), std::string::npos);
}

TEST(EncodeForBoth, RefusesPromptsThatFillTheContext) {
  std::string words;
  for (int i = 0; i < 2000; ++i) words += "word ";
  ChatInput input;
  input.messages = Json::array({{{"role", "user"}, {"content", words}}});
  try {
    (void)encode_for_both({demo_model(), demo_model()}, {input}, "x.jsonl");
    FAIL();
  } catch (const DataError& error) {
    EXPECT_NE(std::string(error.what()).find("item 0 of x.jsonl"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("1024"), std::string::npos);
  }
}

TEST(DescribeData, HashAndName) {
  const auto path = write_lines({"{}", "{}"}, ".jsonl");
  const DataSource data = describe_data(path, 2);
  EXPECT_EQ(data.name, path.filename().string());
  EXPECT_EQ(data.sha256, sha256("{}\n{}\n"));
  EXPECT_EQ(read_items(path, 1).size(), 1U);
  EXPECT_EQ(read_items(path, 0).size(), 2U);
  EXPECT_THROW((void)read_items(path.string() + ".none", 0), DataError);
}

}  // namespace
}  // namespace hone
