// EAGLE-3 heads on disk: the names that SGLang and vLLM load, read and written.
//
// config.json: architectures ["LlamaForCausalLMEagle3"], Llama sizes, vocab_size (the target's),
// draft_vocab_size, target_hidden_size, and the taps twice, since the field numbers them in two
// ways:
//   eagle_config.eagle_aux_hidden_state_layer_ids  output of layer i is i    (SpecForge, SGLang)
//   eagle_aux_hidden_state_layer_ids               output of layer i is i+1  (vLLM)
// model.safetensors: eagle3_tensors(), and unless the vocabularies are equal d2t [draft_vocab] I64
// (offsets: target id = draft id + d2t) and t2d [vocab] BOOL. No embedding is stored: it is the
// target's.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "core/tensor/tensor.h"
#include "runtime/model/draft/contract.h"
#include "runtime/model/draft/eagle3_config.h"

namespace hone {

// A head in memory.
struct Eagle3Head {
  Eagle3Config config;
  Eagle3Parameters<Tensor> weights;       // in config.dtype, or as found on disk (F32|BF16|F16)
  std::vector<int32_t> draft_to_target;   // [draft_vocab] ascending target ids
  std::optional<Tensor> embeddings;       // [vocab, hidden] of heads that bring their own
  std::optional<DraftContract> contract;  // absent in heads of others
};

// Reads `folder`; the layer's names may be midlayer.* or layers.0.*. Throws DataError naming file,
// tensor or field for any missing, additional or ill-shaped tensor, a map that is not ascending or
// contradicts t2d, NaN or infinite weights, and variants that this runtime does not compute
// (fc_norm, norm_output, norm_before_fc, norm_before_residual, more than one layer).
// `target_layers` gives the default taps where the config names none.
Eagle3Head read_eagle3(const std::filesystem::path& folder, int64_t target_layers);

// Writes config.json and model.safetensors into the existing `folder`. The weights are converted to
// head.config.dtype; the contract must be there.
void write_eagle3(const Eagle3Head& head, const std::filesystem::path& folder);

}  // namespace hone
