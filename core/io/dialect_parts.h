// What the readers of several dialects share. Internal to core/io.
#pragma once

#include <string>
#include <string_view>

#include "core/io/checkpoint.h"

namespace hone {

// "model.layers.0.mlp.up_proj" + ".weight"
std::string part_name(const std::string& module, std::string_view suffix);
// "<folder>: <what>", the beginning of an error.
std::string in_folder(const Checkpoint& checkpoint, const std::string& what);

// The tensor without a copy where its bytes are aligned for its type; a copy otherwise (safetensors
// files need not align their tensors).
Tensor borrow_aligned(const Checkpoint& checkpoint, const std::string& name);

// config.json's quantization_config as an object, or nullptr when there is none. Models with a
// vision part may have it in text_config.
const Json* quantization_section(const Checkpoint& checkpoint);

// "<folder>/config.json", where errors about that section point.
std::string config_source(const Checkpoint& checkpoint);

// A string field of `object`, "" when it is absent or no string.
std::string text_field(const Json& object, std::string_view key);

// Throws DataError: `present` has no `missing`.
void require_part(
    const Checkpoint& checkpoint, const std::string& present, const std::string& missing
);

}  // namespace hone
