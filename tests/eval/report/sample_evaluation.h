// A small evaluation with every kind of figure, and with text that tries to break out of HTML.
#pragma once

#include <cmath>

#include "core/base/rng.h"
#include "eval/metric/policy.h"
#include "eval/metric/result.h"

namespace hone {

inline constexpr const char* kHostileText = "</script><img src=x onerror=alert(1)> \"&'";

inline Json sample_of(
    const std::string& task,
    int64_t item,
    const Json& prompt,
    const std::string& reference,
    const std::string& candidate
) {
  const auto side = [](const std::string& text) {
    return Json{
        {"text", text},
        {"tokens", 3},
        {"finish", "stop"},
        {"score", {{"right", true}, {"cause", "right"}}}};
  };
  return {
      {"task", task},
      {"item", item},
      {"prompt", prompt},
      {"expected", "1+1 = 2\n#### 2"},
      {"reference", side(reference)},
      {"candidate", side(candidate)}};
}

inline TaskResult sample_kl() {
  TaskResult task;
  task.key = "kl";
  task.title = "Next-token distributions";
  task.description = "Teacher-forced.";
  task.data = {"traces.jsonl", std::string(64, 'b'), 20};
  DistributionCollector collector;
  Rng rng(1);
  for (int32_t d = 0; d < 20; ++d) {
    for (int32_t p = 0; p < 60; ++p) {
      ScoredToken token;
      token.document = d;
      token.position = p;
      const double u = rng.uniform();
      token.distance.kl = 0.01 * u * u * u * u;
      token.distance.tv = std::sqrt(token.distance.kl) / 4;
      token.distance.top1_agrees = rng.uniform() < 0.98;
      token.reference_logprob = -0.5;
      token.candidate_logprob = -0.51;
      collector.add(token);
    }
  }
  task.distribution = collector.summary(7, 2);
  for (WorstToken& worst : task.distribution->worst) {
    worst.context = kHostileText;
    worst.actual = "a";
    worst.reference_top = "\n";
    worst.candidate_top = " b";
  }
  return task;
}

inline TaskResult sample_gsm8k() {
  TaskResult task;
  task.key = "gsm8k";
  task.title = "Math word problems";
  task.description = "Zero-shot chat.";
  task.data = {"eval_math.jsonl", std::string(64, 'a'), 300};
  task.metrics = {
      {.key = "accuracy", .title = "Final answer right", .definition = "By value."},
      {.key = "strict", .title = "lm-eval strict-match", .definition = "", .decides = false}};
  for (int64_t i = 0; i < 300; ++i) {
    const bool reference = i % 5 != 0;
    const bool candidate = i == 7 ? false : (i == 10 ? true : reference);
    for (PairedMetric& metric : task.metrics) metric.add(i, reference, candidate);
  }
  task.rates = {{"truncated", "Cut off by the token limit", 0, 1, 300}};
  task.samples = {
      sample_of("gsm8k", 7, kHostileText, "#### 2", "#### 3"),
      sample_of("gsm8k", 10, "What is 1+1?", "I think \xC3\xA4", "I think \xC3\xA9")};
  return task;
}

// Equivalent in kl, equivalent in gsm8k: the candidate is "tiny-nvfp4".
inline Evaluation sample_evaluation() {
  Evaluation evaluation;
  evaluation.reference = {"tiny", "r0", "LlamaForCausalLM", "BF16", 10498464};
  evaluation.candidate = {"tiny-nvfp4", "c0", "LlamaForCausalLM", "nvfp4 (42 weights)", 3700000};
  evaluation.profile = "hopper";
  evaluation.hone_version = "0.1.0";
  evaluation.options = {{"margin", 5.0}};
  evaluation.tasks = {sample_kl(), sample_gsm8k()};
  judge(evaluation);
  return evaluation;
}

}  // namespace hone
