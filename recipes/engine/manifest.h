// hone.json: what made an output, from what, with which options; proof of completeness.
#pragma once

#include <filesystem>
#include <string>

#include "core/json/json.h"
#include "recipes/engine/step.h"

namespace hone {

// Recorded in every manifest and part of every cache key.
inline constexpr std::string_view kHoneVersion = "0.1.0";

// sha256 of a file, or of a folder's sorted (relative name, sha256) list. Symbolic links are
// followed (hub caches). hone.json, hone.run.json and README.md (the model card) do not count.
// Throws DataError naming a missing path.
std::string hash_path(const std::filesystem::path& path);

// Hash of (hone version, kind, options, input hashes): equal keys mean equal outputs.
std::string cache_key(Step& step);

// Writes hone.json into `staged` (a staging folder with all files in place; each is recorded with
// its sha256) or, for a file output, "<output>.hone.json" beside it: pass the step's output path.
// Holds hone version, kind, options, input and output hashes, cache key and `outcome`; no times,
// hosts or absolute paths.
void write_manifest(Step& step, const std::filesystem::path& staged, const StepOutcome& outcome);

// Does the step's output exist, complete, with this cache key and unchanged bytes? Then fills
// `outcome` with what was recorded. `key` is cache_key(step).
bool is_finished(Step& step, const std::string& key, StepOutcome& outcome);

}  // namespace hone
