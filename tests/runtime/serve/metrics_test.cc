#include "runtime/serve/metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using ::testing::HasSubstr;

TEST(Metrics, CountsRequestsAndTokens) {
  Metrics metrics;
  metrics.count_request("/v1/models", 200);
  metrics.count_request("/v1/models", 200);
  metrics.count_request("/v1/models", 401);
  Completion completion;
  completion.stats.prompt_tokens = 7;
  completion.stats.output_tokens = 11;
  completion.stats.verifications = 5;
  completion.stats.drafted_at = {5, 4};
  completion.stats.accepted_at = {4, 2};
  completion.stats.first_token_seconds = 0.02;
  completion.stats.total_seconds = 0.12;
  metrics.count_completion(completion);
  const std::string page = metrics.page({3, 2, 100});
  EXPECT_THAT(page, HasSubstr("hone_requests_total{endpoint=\"/v1/models\",status=\"200\"} 2\n"));
  EXPECT_THAT(page, HasSubstr("hone_requests_total{endpoint=\"/v1/models\",status=\"401\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("\nhone_prompt_tokens_total 7\n"));
  EXPECT_THAT(page, HasSubstr("\nhone_output_tokens_total 11\n"));
  EXPECT_THAT(page, HasSubstr("\nhone_draft_tokens_total 9\n"));
  EXPECT_THAT(page, HasSubstr("\nhone_draft_tokens_accepted_total 6\n"));
  EXPECT_THAT(page, HasSubstr("\nhone_requests_running 3\n"));
  EXPECT_THAT(page, HasSubstr("\nhone_requests_waiting 2\n"));
  EXPECT_THAT(page, HasSubstr("\nhone_kv_pages_free 100\n"));
  // 0.1 s for the ten tokens after the first.
  EXPECT_THAT(page, HasSubstr("hone_time_per_output_token_seconds_bucket{le=\"0.01\"} 1\n"));
  EXPECT_THAT(page, HasSubstr("hone_time_per_output_token_seconds_bucket{le=\"0.005\"} 0\n"));
}

TEST(Metrics, HistogramBucketsAreCumulative) {
  Histogram histogram;
  for (const double seconds : {0.0005, 0.001, 0.0011, 0.3, 100.0}) histogram.observe(seconds);
  std::string text;
  histogram.print(text, "h", "help");
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"0.001\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"0.0025\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"0.25\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"0.5\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"60\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("h_bucket{le=\"+Inf\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("h_count 5\n"));
}

}  // namespace
}  // namespace hone
