// hone.json: what made an output, from what, with which options; proof of completeness.
#pragma once

#include <filesystem>
#include <string>

#include "core/json/json.h"
#include "recipes/engine/step.h"

namespace hone {

// sha256 of a file, or of a folder's sorted (relative name, sha256) list without hone.json and
// hone.run.json. For hub caches symbolic links are followed.
std::string hash_path(const std::filesystem::path& path);

// Hash of (hone version, kind, options, input hashes): equal keys mean equal outputs.
std::string cache_key(Step& step);

// Writes hone.json for `folder` (a staging folder with all files in place; recorded with their
// sha256) or, for a file output, "<file>.hone.json" beside it. Holds hone version, kind, options,
// input and output hashes, cache key; no times, hosts or absolute paths. `extra` is merged in under
// "result".
void write_manifest(Step& step, const std::filesystem::path& output, const Json& extra);

// Does the step's output exist, complete, with this cache key and unchanged bytes? Then its
// recorded outcome.
bool is_finished(Step& step, StepOutcome* outcome);

}  // namespace hone
