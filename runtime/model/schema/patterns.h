// Roles by the words in a tensor's name: what decoders, their towers and diffusion transformers on
// the hub call their parts.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/model/schema.h"

namespace hone {

using NameParts = std::vector<std::string_view>;  // between the dots

NameParts split_name(std::string_view name);
// "layers.7" -> 7; also blocks of GPT-2 ("h.7") and Molmo ("blocks.7"). -1: outside the layers, or
// in a prediction layer that is counted apart ("mtp.layers.0").
int64_t layer_of(const NameParts& parts);

// kOther when no word is known.
Role decoder_role(const NameParts& parts);

// Names of diffusers' and of the original FLUX checkpoints.
bool is_diffusion_name(const NameParts& parts);
Role diffusion_role(const NameParts& parts);
// Second stream of a joint block ("add_q_proj", "txt_attn"): it has inputs of its own.
bool is_added_stream(const NameParts& parts);

}  // namespace hone
