#include "quant/select/engine_limits.h"

#include <algorithm>
#include <functional>

#include "core/base/error.h"
#include "runtime/model/schema/parallel.h"

namespace hone {
namespace {

constexpr std::string_view kVllm = "vllm";
constexpr std::string_view kSglang = "sglang";
constexpr std::string_view kTensorrt = "tensorrt-llm";
constexpr int64_t kFp8Block = 128;
// SGLang pads NVFP4 scales to tiles of 128 rows by 4 scales of 16 columns.
constexpr int64_t kScaleTileRows = 128;
constexpr int64_t kScaleTileCols = 64;

struct Limit {
  std::string_view engine;
  bool refused;
  std::string_view text;
  std::function<bool(const PlanEntry&)> concerns;
};

bool is(const PlanEntry& e, Format format) {
  return e.scheme != nullptr && e.scheme->format == format;
}
int64_t rows(const PlanEntry& e) {
  return e.shape.dim(0);
}
int64_t cols(const PlanEntry& e) {
  return e.shape.dim(1);
}

// vLLM merges q/k/v and gate/up into one matrix whose parts must end on block borders.
bool splits_a_block(const PlanEntry& e, int64_t parts) {
  if (!is(e, Format::kBlockFp8)) return false;
  if (is_row_parallel(e.role)) return cols(e) % parts != 0 || cols(e) / parts % kFp8Block != 0;
  if (!is_column_parallel(e.role)) return false;
  return rows(e) % parts != 0 || rows(e) / parts % kFp8Block != 0;
}

std::vector<Limit> limits() {
  return {
      {kVllm,
       true,
       "block FP8 parts of a merged layer end inside a 128-row block",
       [](const PlanEntry& e) {
         return is(e, Format::kBlockFp8) && !e.fused_group.empty() && rows(e) % kFp8Block != 0;
       }},
      {kVllm,
       false,
       "block FP8 with in_features that 128 does not divide: older versions refuse it",
       [](const PlanEntry& e) { return is(e, Format::kBlockFp8) && cols(e) % kFp8Block != 0; }},
      {kSglang,
       false,
       "NVFP4 with out_features not a multiple of 128 or in_features not of 64: some versions "
       "fail when they pad the scales",
       [](const PlanEntry& e) {
         return is(e, Format::kNvfp4) &&
                (rows(e) % kScaleTileRows != 0 || cols(e) % kScaleTileCols != 0);
       }},
      {kVllm,
       false,
       "vision parts stay unquantized there whatever the checkpoint says",
       [](const PlanEntry& e) { return e.scheme != nullptr && e.role == Role::kVision; }},
      {kTensorrt,
       false,
       "kv_b projections in block FP8 are decoded to BF16 at load",
       [](const PlanEntry& e) { return is(e, Format::kBlockFp8) && e.role == Role::kAttnKvB; }},
  };
}

void add(
    std::vector<PlanWarning>& warnings,
    const Plan& plan,
    std::string_view engine,
    bool refused,
    std::string_view text,
    const std::function<bool(const PlanEntry&)>& concerns
) {
  int64_t count = 0;
  const PlanEntry* first = nullptr;
  for (const PlanEntry& e : plan.entries) {
    if (!concerns(e)) continue;
    if (count++ == 0) first = &e;
  }
  if (first == nullptr) return;
  warnings.push_back(
      {std::string(engine),
       refused,
       fmt::format("{} ({} modules, first {} {})", text, count, first->module, first->shape.str())}
  );
}

// What engines say of the scheme in the plan's dialect.
void add_unaccepted(
    std::vector<PlanWarning>& warnings,
    const Plan& plan,
    const std::vector<std::string>& engines,
    bool refuse_unknown
) {
  const std::vector<const Scheme*> schemes = plan_schemes(plan);
  for (const std::string& engine : engines) {
    if (schemes.size() > 1) {
      const Acceptance mixed = mixed_acceptance(engine, plan.dialect, schemes);
      const bool said = std::ranges::any_of(schemes, [&](const Scheme* scheme) {
        return acceptance(engine, plan.dialect, *scheme).verdict != Verdict::kLoads;
      });
      const bool unknown = mixed.verdict == Verdict::kUnknown;
      if (!said && (mixed.verdict == Verdict::kRefused ||
                    (unknown && (refuse_unknown || engines.size() == 1)))) {
        add(warnings,
            plan,
            engine,
            !unknown || refuse_unknown,
            unknown ? fmt::format(
                          "several schemes in the {} dialect are not known to load", plan.dialect
                      )
                    : std::string(mixed.why),
            [](const PlanEntry& e) { return e.scheme != nullptr; });
      }
    }
    for (const Scheme* scheme : schemes) {
      const std::string_view dialect = plan.dialect.empty() ? scheme->dialect : plan.dialect;
      const Acceptance found = acceptance(engine, dialect, *scheme);
      const bool unknown = found.verdict == Verdict::kUnknown;
      if (found.verdict == Verdict::kLoads || (unknown && !refuse_unknown && engines.size() > 1))
        continue;
      add(warnings,
          plan,
          engine,
          !unknown || refuse_unknown,
          unknown ? fmt::format("{} in the {} dialect is not known to load", scheme->name, dialect)
                  : std::string(found.why),
          [scheme](const PlanEntry& e) { return e.scheme == scheme; });
    }
  }
}

}  // namespace

std::vector<PlanWarning> engine_warnings(const Plan& plan, std::string_view wanted) {
  const std::vector<std::string> engines = engines_for(wanted);
  const auto asked = [&](std::string_view engine) {
    return std::ranges::find(engines, engine) != engines.end();
  };
  std::vector<PlanWarning> warnings;
  for (const Limit& limit : limits()) {
    if (asked(limit.engine))
      add(warnings, plan, limit.engine, limit.refused, limit.text, limit.concerns);
  }
  add_unaccepted(warnings, plan, engines, wanted == "all");
  if (!asked(kVllm)) return warnings;
  // The smallest tensor parallel size that cuts through a block; one device is judged above.
  for (const int64_t parts : {2, 4, 8}) {
    const size_t before = warnings.size();
    add(warnings,
        plan,
        kVllm,
        false,
        fmt::format("block FP8 does not load with tensor parallel size {}: a block is cut", parts),
        [parts](const PlanEntry& e) { return splits_a_block(e, parts); });
    if (warnings.size() > before) break;
  }
  return warnings;
}

}  // namespace hone
