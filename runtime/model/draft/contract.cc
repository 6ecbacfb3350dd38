#include "runtime/model/draft/contract.h"

#include <algorithm>
#include <span>

#include <fmt/ranges.h>

#include "core/base/hash.h"

namespace hone {
namespace {

constexpr int64_t kHashedRows = 4096;

template <typename T>
void require_value(
    const std::string& source, std::string_view field, const T& found, const T& expected
) {
  require_data(
      found == expected,
      "{}: the contract's {} is {}, this runtime needs {}; the head would draft nonsense. Retrain "
      "it "
      "with `hone train eagle3`",
      source,
      field,
      found,
      expected
  );
}

void require_size(
    const std::string& source, std::string_view field, int64_t found, int64_t expected
) {
  require_data(
      found == expected,
      "{}: the head was trained for a target with {} {}, this target has {}; use the head of this "
      "target or train one with `hone train eagle3`",
      source,
      field,
      found,
      expected
  );
}

}  // namespace

TargetIdentity identify_target(const Model& target, const Tensor& embeddings) {
  const ModelConfig& config = target.config();
  TargetIdentity identity;
  identity.content_hash = target.content_hash();
  identity.vocab = config.vocab;
  identity.hidden = config.hidden;
  identity.layers = config.layers;
  Sha256 hash;
  hash.update(fmt::format(
      "{} {} {} {} {}", config.vocab, config.hidden, config.layers, config.heads, config.kv_heads
  ));
  const int64_t rows = embeddings.shape().dim(0);
  const int64_t width = embeddings.shape().dim(1);
  const int64_t stride = std::max<int64_t>(1, rows / kHashedRows);
  const std::span<const float> table = embeddings.as<float>();
  for (int64_t row = 0; row < rows; row += stride)
    hash.update(
        std::as_bytes(table.subspan(static_cast<size_t>(row * width), static_cast<size_t>(width)))
    );
  identity.base_hash = hash.hex();
  return identity;
}

Json DraftContract::to_json() const {
  Json document;
  document["version"] = version;
  document["kind"] = kind;
  document["taps"] = taps;
  document["tap_point"] = "output of decoder layer, 0-based";
  document["taps_normalized"] = taps_normalized;
  document["feedback_normalized"] = feedback_normalized;
  document["token_shift"] = token_shift;
  document["position_offset"] = position_offset;
  document["mask_shift"] = mask_shift;
  document["draft_vocab"] = draft_vocab;
  document["vocabulary_map_hash"] = vocabulary_map_hash;
  document["target"] = {
      {"content_hash", target.content_hash},
      {"base_hash", target.base_hash},
      {"vocab", target.vocab},
      {"hidden", target.hidden},
      {"layers", target.layers}};
  return document;
}

DraftContract DraftContract::parse(const Json& document, const std::string& source) {
  require_data(document.is_object(), "{}: hone_contract is not an object", source);
  const std::string where = source + ": hone_contract";
  DraftContract contract;
  contract.version = json_int(document, "version", where);
  contract.kind = json_string(document, "kind", where);
  const auto taps = document.find("taps");
  require_data(
      taps != document.end() && taps->is_array() && !taps->empty() &&
          std::all_of(
              taps->begin(), taps->end(), [](const Json& t) { return t.is_number_integer(); }
          ),
      "{}: field \"taps\" is not a list of layer numbers",
      where
  );
  contract.taps = taps->get<std::vector<int64_t>>();
  contract.taps_normalized = json_bool(document, "taps_normalized", where);
  contract.feedback_normalized = json_bool(document, "feedback_normalized", where);
  contract.token_shift = json_int(document, "token_shift", where);
  contract.position_offset = json_int(document, "position_offset", where);
  contract.mask_shift = json_int(document, "mask_shift", where);
  contract.draft_vocab = json_int(document, "draft_vocab", where);
  contract.vocabulary_map_hash = json_string(document, "vocabulary_map_hash", where);
  const auto target = document.find("target");
  require_data(
      target != document.end() && target->is_object(), "{}: field \"target\" is missing", where
  );
  const std::string target_where = where + ".target";
  contract.target.content_hash = json_string(*target, "content_hash", target_where);
  contract.target.base_hash = json_string(*target, "base_hash", target_where);
  contract.target.vocab = json_int(*target, "vocab", target_where);
  contract.target.hidden = json_int(*target, "hidden", target_where);
  contract.target.layers = json_int(*target, "layers", target_where);
  return contract;
}

std::string hash_vocabulary_map(const std::vector<int32_t>& draft_to_target) {
  return Sha256().update(std::as_bytes(std::span(draft_to_target))).hex();
}

TargetFit check_contract(
    const DraftContract& contract,
    const TargetIdentity& target,
    bool allow_other_target,
    const std::string& source
) {
  const DraftContract known;
  require_value(source, "version", contract.version, known.version);
  require_value(source, "kind", contract.kind, known.kind);
  require_value(source, "taps_normalized", contract.taps_normalized, known.taps_normalized);
  require_value(
      source, "feedback_normalized", contract.feedback_normalized, known.feedback_normalized
  );
  require_value(source, "token_shift", contract.token_shift, known.token_shift);
  require_value(source, "position_offset", contract.position_offset, known.position_offset);
  require_value(source, "mask_shift", contract.mask_shift, known.mask_shift);
  require_size(source, "vocabulary entries", contract.target.vocab, target.vocab);
  require_size(source, "hidden units", contract.target.hidden, target.hidden);
  require_size(source, "layers", contract.target.layers, target.layers);
  if (contract.target.content_hash == target.content_hash) return TargetFit::kExact;
  if (contract.target.base_hash == target.base_hash) return TargetFit::kSameBase;
  require_data(
      allow_other_target,
      "{}: the head was trained on another model of the same sizes (base hash {:.12}, this target "
      "has {:.12}). Use its own target, train a head with `hone train eagle3`, or pass "
      "--allow-other-target to try it anyway: output stays right, acceptance may be near 1",
      source,
      contract.target.base_hash,
      target.base_hash
  );
  return TargetFit::kOther;
}

}  // namespace hone
