#include <fmt/format.h>

#include "runtime/model/schema/tensors.h"

namespace hone {
namespace {

using Tower = VisionDimensions::Tower;

class VisionBuilder {
 public:
  VisionBuilder(const VisionDimensions& v, std::vector<ExpectedTensor>& tensors)
      : v_(v), tensors_(tensors) {}

  // SigLIP with Gemma 3's projector.
  void siglip() {
    const std::string p = "vision_tower.vision_model.";
    const int64_t side = v_.patch > 0 ? v_.image_size / v_.patch : 0;
    add(p + "embeddings.patch_embedding.weight", {v_.hidden, v_.channels, v_.patch, v_.patch});
    add(p + "embeddings.patch_embedding.bias", {v_.hidden});
    add(p + "embeddings.position_embedding.weight", {side * side, v_.hidden});
    for (int64_t i = 0; i < v_.layers; ++i) {
      const std::string layer = fmt::format("{}encoder.layers.{}.", p, i);
      for (const char* norm : {"layer_norm1", "layer_norm2"})
        norm_with_bias(layer + norm, v_.hidden);
      for (const char* part : {"q_proj", "k_proj", "v_proj", "out_proj"}) {
        linear(layer + "self_attn." + part, v_.hidden, v_.hidden);
      }
      linear(layer + "mlp.fc1", v_.intermediate, v_.hidden);
      linear(layer + "mlp.fc2", v_.hidden, v_.intermediate);
    }
    norm_with_bias(p + "post_layernorm", v_.hidden);
    add("multi_modal_projector.mm_input_projection_weight", {v_.hidden, v_.out});
    add("multi_modal_projector.mm_soft_emb_norm.weight", {v_.hidden});
  }

  // The towers of Qwen2-VL, Qwen2.5-VL and Qwen3-VL.
  void qwen() {
    const bool third = v_.tower == Tower::kQwen3;
    const bool gated = v_.tower == Tower::kQwen25;
    const std::string p = third ? "model.visual." : "visual.";
    const int64_t merged = v_.hidden * v_.merge * v_.merge;
    add(p + "patch_embed.proj.weight",
        {v_.hidden, v_.channels, v_.temporal_patch, v_.patch, v_.patch});
    if (third) {
      add(p + "patch_embed.proj.bias", {v_.hidden});
      add(p + "pos_embed.weight", {v_.positions, v_.hidden});
    }
    for (int64_t i = 0; i < v_.layers; ++i) {
      const std::string block = fmt::format("{}blocks.{}.", p, i);
      linear(block + "attn.qkv", 3 * v_.hidden, v_.hidden);
      linear(block + "attn.proj", v_.hidden, v_.hidden);
      if (gated) {
        linear(block + "mlp.gate_proj", v_.intermediate, v_.hidden);
        linear(block + "mlp.up_proj", v_.intermediate, v_.hidden);
        linear(block + "mlp.down_proj", v_.hidden, v_.intermediate);
      } else {
        linear(block + (third ? "mlp.linear_fc1" : "mlp.fc1"), v_.intermediate, v_.hidden);
        linear(block + (third ? "mlp.linear_fc2" : "mlp.fc2"), v_.hidden, v_.intermediate);
      }
      for (const char* norm : {"norm1", "norm2"}) {
        add(block + norm + ".weight", {v_.hidden});
        if (!gated) add(block + norm + ".bias", {v_.hidden});
      }
    }
    if (!third) {
      add(p + "merger.ln_q.weight", {v_.hidden});
      if (!gated) add(p + "merger.ln_q.bias", {v_.hidden});
      linear(p + "merger.mlp.0", merged, merged);
      linear(p + "merger.mlp.2", v_.out, merged);
      return;
    }
    merger(p + "merger.", v_.hidden, merged);
    for (int64_t i = 0; i < v_.deepstack; ++i) {
      merger(fmt::format("{}deepstack_merger_list.{}.", p, i), merged, merged);
    }
  }

 private:
  void add(std::string name, std::vector<int64_t> shape) {
    ExpectedTensor& t = tensors_.emplace_back();
    t.name = std::move(name);
    t.shape = std::move(shape);
    t.role = Role::kVision;
  }
  void linear(const std::string& module, int64_t out, int64_t in) {
    add(module + ".weight", {out, in});
    add(module + ".bias", {out});
  }
  void norm_with_bias(const std::string& module, int64_t width) {
    add(module + ".weight", {width});
    add(module + ".bias", {width});
  }
  void merger(const std::string& p, int64_t norm, int64_t merged) {
    norm_with_bias(p + "norm", norm);
    linear(p + "linear_fc1", merged, merged);
    linear(p + "linear_fc2", v_.out, merged);
  }

  const VisionDimensions& v_;
  std::vector<ExpectedTensor>& tensors_;
};

}  // namespace

void add_vision_tensors(const VisionDimensions& vision, std::vector<ExpectedTensor>& tensors) {
  VisionBuilder builder(vision, tensors);
  if (vision.tower == Tower::kSiglip) {
    builder.siglip();
  } else if (vision.tower != Tower::kNone && vision.tower != Tower::kUnknown) {
    builder.qwen();
  }
}

}  // namespace hone
