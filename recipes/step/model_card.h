// The model card (README.md) that stands beside every checkpoint Hone writes.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/plan.h"

namespace hone {

// One line of the evaluation table.
struct CardMetric {
  std::string name;
  std::string reference;
  std::string candidate;
  std::string verdict;
};

struct ModelCard {
  std::string base_model;            // "Qwen/Qwen3-8B", or a folder's name
  std::vector<std::string> license;  // lines of the base's front matter: "license: mit"
  std::string scale_kind = "f32";    // block FP8
  std::string command;               // that makes the same bytes again
  int64_t calibration_tokens = 0;    // 0: no statistics were used
  std::string corpus_hash;
  const Plan* plan = nullptr;
};

// Markdown with Hugging Face front matter. No times, hosts or paths: equal inputs, equal text. The
// title is the base's name and the scheme, whatever the folder is called.
std::string model_card_text(const ModelCard& card);

// The card with an "## Evaluation" section that holds these rows (replacing an earlier one).
// No rows: no section.
std::string with_evaluation(std::string card, std::span<const CardMetric> metrics);

// "org/name" of a folder in a Hugging Face cache (models--org--name/snapshots/...), otherwise the
// folder's own name.
std::string base_model_name(const std::filesystem::path& folder);

// The lines of a README's front matter that say under which licence the model is
// ("license: mit", "license_name: ...", "license_link: ..."). Empty when there are none.
std::vector<std::string> license_lines(std::string_view readme);

}  // namespace hone
