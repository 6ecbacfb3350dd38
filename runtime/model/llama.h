// LlamaForCausalLM: RMSNorm, rotary GQA, SwiGLU, tied or untied head.
#pragma once

#include <memory>

#include "runtime/model/decoder.h"
#include "runtime/model/weights.h"

namespace hone {

// Throws as WeightReader.
DecoderParts read_llama(WeightReader& reader, const ModelConfig& config);

}  // namespace hone
