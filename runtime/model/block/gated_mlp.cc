#include "runtime/model/block/gated_mlp.h"

#include "runtime/model/schema.h"
#include "runtime/op/silu_mul.h"

namespace hone {

GatedMlpBlock::GatedMlpBlock(WeightReader& reader, const ModelConfig& config, int64_t layer) {
  const auto read = [&](Role role, int64_t rows, int64_t cols) {
    return reader.linear(
        decoder_names::layer_module(layer, role),
        layer,
        {.rows = rows, .cols = cols, .bias = config.mlp_bias}
    );
  };
  gate_ = read(Role::kMlpGate, config.intermediate, config.hidden);
  up_ = read(Role::kMlpUp, config.intermediate, config.hidden);
  down_ = read(Role::kMlpDown, config.hidden, config.intermediate);
}

void GatedMlpBlock::forward(
    const BlockContext& context, std::span<const float> x, std::span<float> y
) const {
  Workspace& work = context.workspace;
  work.gate.resize(static_cast<size_t>(context.rows * gate_.out()));
  work.up.resize(static_cast<size_t>(context.rows * up_.out()));
  gate_.forward(context.call, x, work.gate);
  up_.forward(context.call, x, work.up);
  silu_mul(work.gate, work.up, work.gate);
  down_.forward(context.call, work.gate, y);
}

void GatedMlpBlock::append_modules(std::vector<const Linear*>& modules) const {
  for (const Linear* linear : {&gate_, &up_, &down_}) modules.push_back(linear);
}

}  // namespace hone
