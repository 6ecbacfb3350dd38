// Counters and histograms in the Prometheus text format.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "runtime/engine/engine.h"
#include "runtime/serve/engine_worker.h"

namespace hone {

// Buckets of one histogram, in seconds.
class Histogram {
 public:
  void observe(double seconds);
  // Appends the series of `name`.
  void print(std::string& text, const std::string& name, const std::string& help) const;

 private:
  static constexpr std::array<double, 14> kBounds{
      0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60};
  std::array<int64_t, kBounds.size() + 1> counts_{};
  double sum_ = 0;
};

// All members are thread-safe.
class Metrics {
 public:
  void count_request(const std::string& endpoint, int status);
  // A completion that ended normally.
  void count_completion(const Completion& completion);
  // The whole page for /metrics.
  [[nodiscard]] std::string page(const WorkerLoad& load) const;

 private:
  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, int64_t> requests_;
  int64_t prompt_tokens_ = 0;
  int64_t output_tokens_ = 0;
  int64_t verifications_ = 0;
  int64_t drafted_ = 0;
  int64_t accepted_ = 0;
  Histogram first_token_;
  Histogram per_token_;
  Histogram total_;
};

}  // namespace hone
