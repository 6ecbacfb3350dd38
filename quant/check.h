// Would a serving engine load this checkpoint, and load it right? Every rule is one numbered check
// (docs/check.md lists them).
//
// Files, headers, configs and scalars are always looked at, which takes seconds whatever the size;
// block scales and codes on request. Nothing that the folder holds makes it throw: a fault in one
// place does not hide those in others.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"

namespace hone {

// Sets of engines.
enum Engines : uint8_t {
  kNoEngine = 0,  // only what is wrong whoever reads it
  kVllm = 1,
  kSglang = 2,
  kTensorrtLlm = 4,
  kAllEngines = 7,
};
// "vllm", "sglang", "trtllm" (or "tensorrt-llm"), "all". Throws UsageError listing them.
Engines parse_engines(std::string_view name);
// "vllm, sglang"
std::string engines_text(Engines engines);

struct CheckOptions {
  Engines engines = kAllEngines;
  int64_t tensor_parallel = 1;
  bool scales = false;  // read block scales
  bool deep = false;    // read codes and dense weights; implies `scales`
};

enum class CheckLevel : uint8_t {
  kFault,    // does not load, or loads wrongly
  kWarning,  // loads, and is worth knowing
};

struct CheckFinding {
  std::string subject;  // tensor, module, file or config field
  std::string text;     // what was found, and what was expected
};

// A check that found something.
struct CheckResult {
  std::string_view id;  // "HQ403"
  CheckLevel level = CheckLevel::kFault;
  std::string_view title;  // the rule that is broken, as a sentence
  std::string_view fix;
  Engines engines = kNoEngine;  // those that mind; kNoEngine: all readers
  int64_t count = 0;
  std::vector<CheckFinding> findings;  // the first ones
};

struct CheckReport {
  std::string name;  // of the folder, as given
  CheckOptions options;
  int64_t checks = 0;  // that ran
  int64_t tensors = 0;
  int64_t bytes = 0;                 // of all tensors
  std::vector<CheckResult> results;  // faults first, each in the order of the table

  [[nodiscard]] bool has_faults() const;
  [[nodiscard]] int64_t faults() const;  // checks that found faults
  [[nodiscard]] int64_t warnings() const;
};

// Throws UsageError when `folder` is no folder or the tensor parallel size is below 1; Cancelled.
CheckReport check_checkpoint(const std::filesystem::path& folder, const CheckOptions& options);

std::string check_text(const CheckReport& report);
Json check_json(const CheckReport& report);

// A row of the table of checks, as docs/check.md shows it.
struct CheckDescription {
  std::string_view id;
  CheckLevel level = CheckLevel::kFault;
  Engines engines = kNoEngine;
  std::string_view needs;  // "", "--tp", "--scales", "--deep"
  std::string_view title;
  std::string_view fix;
};
std::vector<CheckDescription> check_descriptions();

}  // namespace hone
