// The part of a decoder-only model that no architecture changes: batches, positions, cache, taps,
// logits. An architecture brings its blocks and its names.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "core/io/checkpoint.h"
#include "runtime/model/block/context.h"
#include "runtime/model/linear.h"
#include "runtime/model/model.h"

namespace hone {

// One layer: adds its attention and feed-forward to the residual stream.
class DecoderBlock {
 public:
  virtual ~DecoderBlock() = default;
  // hidden: [rows, config.hidden] f32, updated in place.
  virtual void forward(const BlockContext& context, std::span<float> hidden) const = 0;
  // Linear modules in execution order; they live as long as the block.
  virtual void append_modules(std::vector<const Linear*>& modules) const = 0;
};

struct DecoderParts {
  ModelConfig config;
  Profile profile = Profile::kExact;
  std::shared_ptr<const Checkpoint> checkpoint;  // for content_hash()
  Tensor embedding;                              // [vocab, hidden] as stored
  std::vector<std::unique_ptr<DecoderBlock>> blocks;
  std::vector<float> final_norm;   // [hidden]
  Linear head;                     // [vocab, hidden]
  bool head_is_embedding = false;  // tied: then it is no module of its own
};

std::unique_ptr<Model> make_decoder(DecoderParts parts);

}  // namespace hone
