// The table of checks: one small function for each rule, grouped in files by theme.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "quant/check.h"
#include "quant/check/contents.h"
#include "quant/check/declaration.h"
#include "quant/check/modules.h"
#include "quant/check/snapshot.h"
#include "runtime/model/config.h"

namespace hone {

// What a check looks at. Everything in it is read-only and outlives the checks.
struct CheckContext {
  const Snapshot& files;
  const Declaration& declared;
  const ModuleTable& modules;
  const ConfigIdentity& identity;  // empty when config.json cannot be read
  const Contents& contents;        // empty unless asked for
  const CheckOptions& options;
};

// Collects what one check finds; the first kKept findings are kept, all are counted.
class Findings {
 public:
  static constexpr size_t kKept = 20;

  void add(std::string subject, std::string text);

  [[nodiscard]] int64_t count() const { return count_; }
  [[nodiscard]] std::vector<CheckFinding> take() { return std::move(kept_); }

 private:
  int64_t count_ = 0;
  std::vector<CheckFinding> kept_;
};

// What a check needs besides files, headers, configs and scalars.
enum class CheckNeeds : uint8_t { kNothing, kScales, kCodes };

struct Check {
  std::string_view id;
  CheckLevel level = CheckLevel::kFault;
  Engines engines = kNoEngine;  // kNoEngine: runs for all, and without any
  CheckNeeds needs = CheckNeeds::kNothing;
  std::string_view title;
  std::string_view fix;
  void (*run)(const CheckContext&, Findings&) = nullptr;
};

// A text model with a head, by the name of its architecture; no draft head, tower or diffusion
// model.
bool is_language_model(const CheckContext& context);

// One list for each theme.
std::span<const Check> file_checks();      // HQ1xx
std::span<const Check> config_checks();    // HQ2xx
std::span<const Check> group_checks();     // HQ24x
std::span<const Check> part_checks();      // HQ3xx
std::span<const Check> layer_checks();     // HQ33x
std::span<const Check> value_checks();     // HQ4xx
std::span<const Check> engine_checks();    // HQ5xx
std::span<const Check> parallel_checks();  // HQ6xx

// All of them, in the order of their ids.
std::vector<Check> all_checks();

}  // namespace hone
