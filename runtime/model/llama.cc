#include "runtime/model/llama.h"

#include <string>

#include "runtime/model/block/gated_mlp.h"
#include "runtime/model/block/gqa.h"
#include "runtime/model/schema.h"
#include "runtime/op/add.h"
#include "runtime/op/rms_norm.h"

namespace hone {
namespace {

class LlamaBlock final : public DecoderBlock {
 public:
  LlamaBlock(WeightReader& reader, const ModelConfig& config, int64_t layer)
      : attention_norm_(reader.vector(decoder_names::attention_norm(layer), config.hidden)),
        attention_(reader, config, layer),
        mlp_norm_(reader.vector(decoder_names::mlp_norm(layer), config.hidden)),
        mlp_(reader, config, layer),
        eps_(static_cast<float>(config.rms_eps)) {}

  void forward(const BlockContext& context, std::span<float> hidden) const override {
    Workspace& work = context.workspace;
    work.normed.resize(hidden.size());
    work.delta.resize(hidden.size());
    rms_norm(hidden, attention_norm_, eps_, work.normed);
    attention_.forward(context, work.normed, work.delta);
    add(work.delta, hidden);
    rms_norm(hidden, mlp_norm_, eps_, work.normed);
    mlp_.forward(context, work.normed, work.delta);
    add(work.delta, hidden);
  }

  void append_modules(std::vector<const Linear*>& modules) const override {
    attention_.append_modules(modules);
    mlp_.append_modules(modules);
  }

 private:
  std::vector<float> attention_norm_;
  GqaBlock attention_;
  std::vector<float> mlp_norm_;
  GatedMlpBlock mlp_;
  float eps_;
};

}  // namespace

DecoderParts read_llama(WeightReader& reader, const ModelConfig& config) {
  const std::string embedding(decoder_names::kEmbedding);
  const std::string head(decoder_names::kLmHead);
  DecoderParts parts;
  parts.config = config;
  parts.embedding = reader.table(embedding, config.vocab, config.hidden);
  for (int64_t layer = 0; layer < config.layers; ++layer)
    parts.blocks.push_back(std::make_unique<LlamaBlock>(reader, config, layer));
  parts.final_norm = reader.vector(std::string(decoder_names::kFinalNorm), config.hidden);
  parts.head_is_embedding = config.tied_embeddings;
  if (config.tied_embeddings) {
    // Some exporters write the tied head a second time.
    reader.ignore(head + ".weight");
    LinearParts tied;
    tied.module = head;
    tied.weight = LinearWeight::dense(parts.embedding);
    parts.head = Linear(std::move(tied));
  } else {
    parts.head = reader.linear(head, -1, {.rows = config.vocab, .cols = config.hidden});
  }
  return parts;
}

}  // namespace hone
