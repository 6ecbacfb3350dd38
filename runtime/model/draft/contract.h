// What a draft head was trained for, stored with it ("hone_contract" in its config.json) and
// checked when it is loaded: a head that does not fit is refused with the reason, never served at
// an acceptance length of 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "runtime/model/model.h"

namespace hone {

// What a head must know of its target.
struct TargetIdentity {
  std::string content_hash;  // Model::content_hash()
  // Hash of sizes and of up to 4,096 evenly spaced rows of the input embedding, which weight
  // quantization leaves alone: equal for a model and its quantized variants, different after
  // fine-tuning or rotation (whose hidden states a head could not read).
  std::string base_hash;
  int64_t vocab = 0;
  int64_t hidden = 0;
  int64_t layers = 0;
};
// embeddings: Model::embedding_table().
TargetIdentity identify_target(const Model& target, const Tensor& embeddings);

// Conventions of training and serving that no shape reveals. Row t pairs the feature of position t
// with token t + token_shift at rotary position t + position_offset; step k of row t was supervised
// where tokens t + 1 .. t + mask_shift + k are the assistant's.
struct DraftContract {
  int64_t version = 1;
  std::string kind = "eagle3";
  std::vector<int64_t> taps;  // outputs of the target's layers, 0-based
  bool taps_normalized = false;
  bool feedback_normalized = false;
  int64_t token_shift = 1;
  int64_t position_offset = 0;
  int64_t mask_shift = 2;
  int64_t draft_vocab = 0;
  std::string vocabulary_map_hash;  // hash_vocabulary_map()
  TargetIdentity target;

  [[nodiscard]] Json to_json() const;
  // Throws DataError naming `source` and the field.
  static DraftContract parse(const Json& document, const std::string& source);
};

// sha256 of the target ids of the draft vocabulary, in order.
std::string hash_vocabulary_map(const std::vector<int32_t>& draft_to_target);

// How well a head fits.
enum class TargetFit : uint8_t {
  kExact,     // the very model that it was trained on
  kSameBase,  // a quantized (or the original) variant of it: acceptance may differ somewhat
  kOther,     // same sizes, other weights; only on request
};

// Compares the contract with what this runtime does and with the target. Throws DataError naming
// `source`, the field, both values and what to do, when they do not fit; kOther only with
// `allow_other_target`.
TargetFit check_contract(
    const DraftContract& contract,
    const TargetIdentity& target,
    bool allow_other_target,
    const std::string& source
);

}  // namespace hone
