// What an evaluation found, as plain data: filled by eval/task, judged by eval/metric/policy,
// written by eval/report.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "eval/metric/distribution.h"
#include "eval/stat/equivalence.h"

namespace hone {

// One yes-or-no metric over the items of a task, for both models.
struct PairedMetric {
  std::string key;           // "accuracy"
  std::string title;         // "Final answer right"
  std::string definition{};  // one sentence
  bool decides = true;       // takes part in the verdict
  PairedCounts counts{};
  std::vector<int64_t> lost{};    // items that only the reference gets right
  std::vector<int64_t> gained{};  // items that only the candidate gets right
  Decision decision{};            // filled by judge()

  void add(int64_t item, bool reference, bool candidate);
};

// How often something happened on each side, without a verdict of its own.
struct RatePair {
  std::string key;  // "truncated"
  std::string title;
  int64_t reference = 0;
  int64_t candidate = 0;
  int64_t total = 0;
};

// The file that items came from.
struct DataSource {
  std::string name;  // file name without folders
  std::string sha256;
  int64_t items = 0;  // used
};

// One task's outcome.
struct TaskResult {
  std::string key;  // "gsm8k"
  std::string title;
  std::string description;
  DataSource data;
  std::vector<PairedMetric> metrics;
  std::vector<RatePair> rates;
  std::optional<DistributionSummary> distribution;
  std::vector<Json> samples;                 // one object per item, for samples.jsonl
  std::string invalid;                       // why the comparison is none; empty: it is one
  Verdict verdict = Verdict::kInconclusive;  // filled by judge()
  std::string reason;                        // one sentence; filled by judge()
};

// One side of the comparison.
struct ModelInfo {
  std::string name;  // last part of its path
  std::string hash;  // Model::content_hash()
  std::string architecture;
  std::string formats;  // "bf16", "nvfp4 (84 of 86 linear weights), bf16"
  int64_t weight_bytes = 0;
};

// The rules that turn figures into a verdict.
struct Policy {
  double margin = 0.05;         // of every paired metric, as a fraction
  double kl_limit = 0.05;       // of the mean KL, nats
  double max_truncated = 0.05;  // share of the reference's answers that may be cut off
};

// A whole evaluation.
struct Evaluation {
  ModelInfo reference;
  ModelInfo candidate;
  std::string profile;  // whose arithmetic the candidate emulated; the reference is exact
  std::string hone_version;
  Json options = Json::object();  // as given to the step
  Policy policy;
  std::vector<TaskResult> tasks;
  Verdict verdict = Verdict::kInconclusive;  // filled by judge()
  std::string headline;                      // the verdict in words; filled by judge()
};

}  // namespace hone
