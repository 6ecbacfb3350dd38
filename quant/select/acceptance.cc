#include "quant/select/acceptance.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/io/dialect.h"

namespace hone {
namespace {

constexpr std::string_view kVllm = "vllm";
constexpr std::string_view kSglang = "sglang";
constexpr std::string_view kTensorrt = "tensorrt-llm";
constexpr std::string_view kCt = "compressed-tensors";
constexpr std::string_view kModelOpt = "modelopt";
constexpr std::string_view kFp8 = "fp8";

constexpr std::string_view kStaticAsBlocks =
    "it reads static FP8 of the fp8 dialect as block FP8; the modelopt dialect says it right";
constexpr std::string_view kCtStatic =
    "its reader of compressed-tensors knows FP8 per channel and per block only";
constexpr std::string_view kCtNames =
    "its reader of compressed-tensors finds NVFP4 tensors for some models only; the modelopt "
    "dialect "
    "works for all";
constexpr std::string_view kCtWeightOnly =
    "its reader of compressed-tensors needs quantized activations, but for MXFP4";
constexpr std::string_view kW4A16 =
    "NVFP4 with 16-bit activations (W4A16_NVFP4) is unknown to the versions that were read";
constexpr std::string_view kModelOptFp4Fp8 =
    "its reader of the modelopt dialect knows FP8 per tensor and NVFP4 only";
constexpr std::string_view kFp8Mixed = "the fp8 dialect holds one scheme";
constexpr std::string_view kMixedUnknown =
    "MIXED_PRECISION is unknown to the versions that were read";
constexpr std::string_view kMixedMembers =
    "its reader of MIXED_PRECISION knows FP8 per tensor and NVFP4 only";
constexpr std::string_view kMxMethod =
    "it reads MXFP8 under a quant_method of its own, not from the modelopt dialect";

// A size that every format can hold.
constexpr int64_t kWholeBlocks = 128;

struct Row {
  std::string_view engine;
  std::string_view dialect;
  std::string_view scheme;
  Verdict verdict;
  std::string_view why = "";
};

constexpr Row kRows[] = {
    {kVllm, kFp8, "fp8-block", Verdict::kLoads},
    {kVllm, kFp8, "fp8-tensor", Verdict::kLoads},
    {kVllm, kCt, "fp8-block", Verdict::kLoads},
    {kVllm, kCt, "fp8-dynamic", Verdict::kLoads},
    {kVllm, kCt, "fp8-tensor", Verdict::kLoads},
    {kVllm, kCt, "fp8-channel", Verdict::kLoads},
    {kVllm, kCt, "nvfp4", Verdict::kLoads},
    {kVllm, kCt, "nvfp4a16", Verdict::kLoads},
    {kVllm, kCt, "mxfp4", Verdict::kLoads},
    {kVllm, kCt, "mxfp4a16", Verdict::kLoads},
    {kVllm, kCt, "mxfp8", Verdict::kLoads},
    {kVllm, kModelOpt, "fp8-tensor", Verdict::kLoads},
    {kVllm, kModelOpt, "fp8-dynamic", Verdict::kLoads},
    {kVllm, kModelOpt, "nvfp4", Verdict::kLoads},
    {kVllm, kModelOpt, "nvfp4a16", Verdict::kLoads},
    {kVllm, kModelOpt, "mxfp8", Verdict::kLoads},
    {kSglang, kFp8, "fp8-block", Verdict::kLoads},
    {kSglang, kFp8, "fp8-tensor", Verdict::kLoads},
    {kSglang, kCt, "fp8-dynamic", Verdict::kLoads},
    {kSglang, kCt, "fp8-tensor", Verdict::kLoads},
    {kSglang, kModelOpt, "fp8-tensor", Verdict::kLoads},
    {kSglang, kModelOpt, "nvfp4", Verdict::kLoads},
    {kSglang, kModelOpt, "nvfp4a16", Verdict::kRefused, kW4A16},
    {kSglang, kModelOpt, "fp8-dynamic", Verdict::kRefused, kModelOptFp4Fp8},
    {kSglang, kModelOpt, "mxfp8", Verdict::kRefused, kModelOptFp4Fp8},
    {kTensorrt, kFp8, "fp8-block", Verdict::kLoads},
    {kTensorrt, kFp8, "fp8-tensor", Verdict::kRefused, kStaticAsBlocks},
    {kTensorrt, kCt, "fp8-block", Verdict::kLoads},
    {kTensorrt, kCt, "fp8-dynamic", Verdict::kLoads},
    {kTensorrt, kCt, "fp8-tensor", Verdict::kRefused, kCtStatic},
    {kTensorrt, kCt, "fp8-channel", Verdict::kRefused, kCtWeightOnly},
    {kTensorrt, kCt, "nvfp4", Verdict::kRefused, kCtNames},
    {kTensorrt, kCt, "nvfp4a16", Verdict::kRefused, kCtWeightOnly},
    {kTensorrt, kModelOpt, "fp8-tensor", Verdict::kLoads},
    {kTensorrt, kModelOpt, "nvfp4", Verdict::kLoads},
    {kTensorrt, kModelOpt, "nvfp4a16", Verdict::kLoads},
    {kTensorrt, kModelOpt, "mxfp8", Verdict::kRefused, kMxMethod},
};

// Schemes to fall back to, the most similar first. fp8-block is loaded by all.
std::vector<std::string_view> neighbours(std::string_view scheme) {
  if (scheme == "nvfp4a16" || scheme == "mxfp4" || scheme == "mxfp4a16")
    return {"nvfp4", "fp8-block"};
  if (scheme == "nvfp4") return {"nvfp4a16", "fp8-block"};
  return {"fp8-dynamic", "fp8-block"};
}

bool all_load(std::string_view dialect, const Scheme& scheme, std::string_view wanted) {
  return std::ranges::all_of(engines_for(wanted), [&](const std::string& engine) {
    return acceptance(engine, dialect, scheme).verdict == Verdict::kLoads;
  });
}

}  // namespace

std::vector<std::string> engine_names() {
  return {std::string(kVllm), std::string(kSglang), std::string(kTensorrt)};
}

std::vector<std::string> engines_for(std::string_view wanted) {
  std::vector<std::string> names = engine_names();
  if (wanted.empty() || wanted == "all") return names;
  if (wanted == "trtllm") return {std::string(kTensorrt)};
  require(
      std::ranges::find(names, wanted) != names.end(),
      "unknown engine \"{}\"; known: {}, trtllm, all",
      wanted,
      fmt::join(names, ", ")
  );
  return {std::string(wanted)};
}

Acceptance acceptance(std::string_view engine, std::string_view dialect, const Scheme& scheme) {
  for (const Row& row : kRows) {
    if (row.engine == engine && row.dialect == dialect && row.scheme == scheme.name)
      return {row.verdict, row.why};
  }
  return {};
}

std::string_view default_dialect(const Scheme& scheme, std::string_view wanted) {
  if (wanted.empty() || all_load(scheme.dialect, scheme, wanted)) return scheme.dialect;
  for (const std::string_view dialect : {kModelOpt, kCt, kFp8}) {
    if (all_load(dialect, scheme, wanted)) return dialect;
  }
  return scheme.dialect;
}

Acceptance mixed_acceptance(
    std::string_view engine, std::string_view dialect, std::span<const Scheme* const> schemes
) {
  if (dialect == kFp8) return {Verdict::kRefused, kFp8Mixed};
  for (const Scheme* scheme : schemes) {
    const Acceptance one = acceptance(engine, dialect, *scheme);
    if (one.verdict != Verdict::kLoads) return one;
  }
  if (engine == kSglang)
    return dialect == kModelOpt ? Acceptance{Verdict::kRefused, kMixedUnknown} : Acceptance{};
  if (engine == kVllm && dialect == kModelOpt) {
    const bool known = std::ranges::all_of(schemes, [](const Scheme* scheme) {
      return scheme->format == Format::kNvfp4 || scheme->format == Format::kFp8Tensor;
    });
    if (!known) return {Verdict::kRefused, kMixedMembers};
  }
  return {Verdict::kLoads, ""};
}

std::string_view mixed_dialect(std::span<const Scheme* const> schemes, std::string_view wanted) {
  std::string_view best;
  int64_t most = -1;
  for (const std::string_view dialect : {kModelOpt, kCt}) {
    const bool can = std::ranges::none_of(schemes, [&](const Scheme* scheme) {
      return dialect_by_name(dialect)
          .refuses({"m", scheme->format, scheme->activation, kWholeBlocks, kWholeBlocks})
          .has_value();
    });
    if (!can) continue;
    const int64_t loads = std::ranges::count_if(engines_for(wanted), [&](const auto& engine) {
      return mixed_acceptance(engine, dialect, schemes).verdict == Verdict::kLoads;
    });
    if (loads <= most) continue;
    best = dialect;
    most = loads;
  }
  std::string names;
  for (const Scheme* scheme : schemes)
    names += (names.empty() ? "" : " and ") + std::string(scheme->name);
  require(!best.empty(), "no dialect holds {} in one folder", names);
  return best;
}

std::string nearest_accepted(const Scheme& scheme, std::string_view wanted) {
  // The scheme itself in another dialect comes first.
  std::vector<std::string_view> names = neighbours(scheme.name);
  names.insert(names.begin(), scheme.name);
  for (const std::string_view name : names) {
    const Scheme& candidate = scheme_by_name(name);
    const std::string_view dialect = default_dialect(candidate, wanted);
    if (all_load(dialect, candidate, wanted))
      return fmt::format("{} (dialect {})", candidate.name, dialect);
  }
  throw InternalError("no scheme is loaded by " + std::string(wanted));
}

}  // namespace hone
