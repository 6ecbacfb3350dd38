// Which serving engine loads which scheme in which dialect.
//
// From the sources of their loaders, one stored version each (docs/formats.md has the table); what
// was not read there is unknown, and unknown is not accepted by "--for all".
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "quant/scheme.h"

namespace hone {

enum class Verdict : uint8_t { kLoads, kUnknown, kRefused };

struct Acceptance {
  Verdict verdict = Verdict::kUnknown;
  std::string_view why;  // of a refusal
};

// Engine names: "vllm", "sglang", "tensorrt-llm".
std::vector<std::string> engine_names();

// What --for accepts: a name, "trtllm", "all", or "" (none in particular). The engines that it
// means: all of them for "all" and "". UsageError for other names.
std::vector<std::string> engines_for(std::string_view wanted);

// A folder whose quantized modules all have this scheme.
Acceptance acceptance(std::string_view engine, std::string_view dialect, const Scheme& scheme);
// A folder that mixes these schemes (two or more).
Acceptance mixed_acceptance(
    std::string_view engine, std::string_view dialect, std::span<const Scheme* const> schemes
);

// The dialect that all engines of `wanted` load the scheme in; the scheme's own one when there is
// none or when it will do.
std::string_view default_dialect(const Scheme& scheme, std::string_view wanted);

// The dialect for a folder that mixes these schemes: of those that can say it the one that most
// engines of `wanted` load. UsageError when none can.
std::string_view mixed_dialect(std::span<const Scheme* const> schemes, std::string_view wanted);

// "fp8-dynamic (dialect compressed-tensors)": the scheme most like this one that all engines of
// `wanted` load.
std::string nearest_accepted(const Scheme& scheme, std::string_view wanted);

}  // namespace hone
