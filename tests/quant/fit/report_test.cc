#include "quant/fit/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/fixture/published.h"

namespace hone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using testing_fixture::published_config;

FitReport report_of(const std::string& name, const char* gpus) {
  FitRequest r;
  r.name = name;
  r.dimensions = ModelDimensions::parse(published_config(name), name);
  r.context = 32768;
  r.batch = 16;
  if (gpus != nullptr) r.gpus = parse_gpus(gpus);
  return fit(r);
}

TEST(FitText, NamesEveryPartOfTheAnswer) {
  const std::string text = fit_text(report_of("deepseek-ai/DeepSeek-V3", "h100x8"));
  for (const char* part :
       {"deepseek-ai/DeepSeek-V3: DeepseekV3ForCausalLM, 61 layers, family deepseek",
        "671,026,419,200",
        "prediction",
        "routed experts",
        "bits a parameter",
        "70,272",
        "35,136",
        "8 x H100 SXM 80 GB (85,520,809,984 bytes each): tensor parallel 8",
        "driver and context",
        "does not fit: the weights take",
        "note: the prediction layers"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("linear attention")));
}

TEST(FitText, WithoutGpusThereIsNoVerdict) {
  const std::string text = fit_text(report_of("Qwen/Qwen3-8B", nullptr));
  EXPECT_THAT(text, Not(HasSubstr("fits")));
  EXPECT_THAT(text, Not(HasSubstr("active")));
}

TEST(FitJson, HoldsTheNumbersOfTheText) {
  const FitReport report = report_of("deepseek-ai/DeepSeek-V3", "h200x8");
  const Json json = fit_json(report);
  EXPECT_EQ(json["total_parameters"], 671'026'419'200);
  EXPECT_EQ(json["weights"]["scheme"], "fp8-block");
  EXPECT_EQ(json["weights_by_scheme"].size(), weight_formats().size());
  EXPECT_EQ(json["cache_bf16"]["bytes_per_token"], 70'272);
  EXPECT_EQ(json["cache_fp8"]["sequence_bytes"], int64_t{35'136} * 32768);
  EXPECT_EQ(json["verdict"]["fits"], true);
  EXPECT_EQ(json["verdict"]["gpus"], 8);
  EXPECT_EQ(json["verdict"]["cache"], report.verdict->cache);
  EXPECT_TRUE(fit_json(report_of("Qwen/Qwen3-8B", nullptr))["verdict"].is_null());
}

}  // namespace
}  // namespace hone
