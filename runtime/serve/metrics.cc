#include "runtime/serve/metrics.h"

#include <numeric>

#include <fmt/format.h>

namespace hone {
namespace {

void print_value(
    std::string& text, const char* name, const char* type, const char* help, double value
) {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} {2}\n{0} {3}\n", name, help, type, value);
}

}  // namespace

void Histogram::observe(double seconds) {
  size_t bucket = 0;
  while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
  ++counts_[bucket];
  sum_ += seconds;
}

void Histogram::print(std::string& text, const std::string& name, const std::string& help) const {
  text += fmt::format("# HELP {0} {1}\n# TYPE {0} histogram\n", name, help);
  int64_t below = 0;
  for (size_t i = 0; i < kBounds.size(); ++i) {
    below += counts_[i];
    text += fmt::format("{}_bucket{{le=\"{}\"}} {}\n", name, kBounds[i], below);
  }
  below += counts_.back();
  text +=
      fmt::format("{0}_bucket{{le=\"+Inf\"}} {1}\n{0}_sum {2}\n{0}_count {1}\n", name, below, sum_);
}

void Metrics::count_request(const std::string& endpoint, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{endpoint, status}];
}

void Metrics::count_completion(const Completion& completion) {
  const RequestStats& stats = completion.stats;
  const std::lock_guard lock(mutex_);
  prompt_tokens_ += stats.prompt_tokens;
  output_tokens_ += stats.output_tokens;
  verifications_ += stats.verifications;
  drafted_ += std::reduce(stats.drafted_at.begin(), stats.drafted_at.end(), int64_t{0});
  accepted_ += std::reduce(stats.accepted_at.begin(), stats.accepted_at.end(), int64_t{0});
  first_token_.observe(stats.first_token_seconds);
  total_.observe(stats.total_seconds);
  if (stats.output_tokens > 1) {
    per_token_.observe(
        (stats.total_seconds - stats.first_token_seconds) /
        static_cast<double>(stats.output_tokens - 1)
    );
  }
}

std::string Metrics::page(const WorkerLoad& load) const {
  std::string text;
  const std::lock_guard lock(mutex_);
  text += "# HELP hone_requests_total Requests by endpoint and HTTP status\n";
  text += "# TYPE hone_requests_total counter\n";
  for (const auto& [key, count] : requests_) {
    text += fmt::format(
        "hone_requests_total{{endpoint=\"{}\",status=\"{}\"}} {}\n", key.first, key.second, count
    );
  }
  const auto counter = [&](const char* name, const char* help, int64_t value) {
    print_value(text, name, "counter", help, static_cast<double>(value));
  };
  counter("hone_prompt_tokens_total", "Prompt tokens of finished requests", prompt_tokens_);
  counter("hone_output_tokens_total", "Generated tokens of finished requests", output_tokens_);
  counter("hone_verifications_total", "Target passes that produced tokens", verifications_);
  counter("hone_draft_tokens_total", "Tokens drafted", drafted_);
  counter("hone_draft_tokens_accepted_total", "Drafted tokens accepted", accepted_);
  print_value(text, "hone_requests_running", "gauge", "Requests being generated", load.running);
  print_value(text, "hone_requests_waiting", "gauge", "Requests in the queue", load.waiting);
  print_value(
      text,
      "hone_kv_pages_free",
      "gauge",
      "Free pages of the KV cache",
      static_cast<double>(load.free_pages)
  );
  first_token_.print(text, "hone_time_to_first_token_seconds", "Time to first token");
  per_token_.print(text, "hone_time_per_output_token_seconds", "Time per output token");
  total_.print(text, "hone_request_seconds", "Time of a whole request");
  return text;
}

}  // namespace hone
