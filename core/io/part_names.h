// The names that tensors of quantized modules have on disk, over all dialects.
//
// A reader of one dialect knows its own names; whoever looks at a folder without trusting it (the
// checks) must recognise every name, also where it does not belong.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hone {

enum class Part : uint8_t {
  kWeight,            // X.weight: dense, or codes
  kPackedWeight,      // X.weight_packed: two 4-bit codes in a byte (compressed-tensors)
  kScale,             // X.weight_scale: block, channel or tensor scales
  kScaleInv,          // X.weight_scale_inv (fp8): a multiplier in spite of its name
  kGlobalMultiplier,  // X.weight_scale_2 (modelopt)
  kGlobalDivisor,     // X.weight_global_scale (compressed-tensors)
  kInputMultiplier,   // X.input_scale
  kInputDivisor,      // X.input_global_scale (compressed-tensors)
  kPreQuantScale,     // X.pre_quant_scale (AWQ)
  kZeroPoint,         // X.weight_zero_point
  kWeightShape,       // X.weight_shape
  kBias,              // X.bias
  kKScale,            // X.k_scale, X.v_scale, X.q_scale: KV cache
  kVScale,
  kQScale,
  kBlocks,          // X_blocks: MXFP4 codes of GPT-OSS
  kBlockExponents,  // X_scales
};

// ".weight_scale"
std::string_view part_suffix(Part part);

struct PartName {
  std::string module;
  Part part = Part::kWeight;
};

// "model.layers.0.mlp.up_proj.weight_scale" -> {"model.layers.0.mlp.up_proj", kScale}; nullopt for
// names that end like no part.
std::optional<PartName> parse_part(std::string_view tensor);

// Scales and scalars that mean something only beside the codes of the same module.
bool needs_codes(Part part);
// Scales of the KV cache: they belong to the attention layer, not to a weight.
bool is_kv_scale(Part part);

}  // namespace hone
