#include "eval/task/model_pair.h"

#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/io/dialect.h"

namespace hone {
namespace {

// "nvfp4 x 30 (activations nvfp4), bf16": formats of the linear weights, most frequent first.
std::string describe_formats(const Checkpoint& checkpoint, const ModelConfig& config) {
  const std::string dense(dtype_name(config.torch_dtype));
  const Dialect* dialect = detect_dialect(checkpoint);
  if (dialect == nullptr) return dense;
  std::map<std::string, int64_t> counts;
  for (const std::string& module : dialect->modules(checkpoint)) {
    const QuantizedTensor tensor = dialect->read(checkpoint, module);
    std::string name(format_name(tensor.format));
    if (tensor.activation != ActivationRule::kNone)
      name += fmt::format(" with {} activations", activation_rule_name(tensor.activation));
    ++counts[name];
  }
  std::vector<std::pair<std::string, int64_t>> order(counts.begin(), counts.end());
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.second > b.second;
  });
  std::string out;
  for (const auto& [name, count] : order) out += fmt::format("{} ({} weights), ", name, count);
  return out + "the rest " + dense;
}

void check_room(const LoadedModel& side, size_t length, size_t item, const std::string& source) {
  const int64_t positions = side.model->config().max_positions;
  require_data(
      static_cast<int64_t>(length) + 1 <= positions,
      "item {} of {}: its prompt has {} tokens, the context of {} holds {}; remove the item or use "
      "--limit",
      item,
      source,
      length,
      side.folder.filename().string(),
      positions
  );
}

}  // namespace

ModelInfo describe_model(const LoadedModel& loaded, std::string name) {
  const auto checkpoint = Checkpoint::open(loaded.folder);
  ModelInfo info;
  if (name.empty()) {
    const auto folder = std::filesystem::absolute(loaded.folder).lexically_normal();
    name = (folder.has_filename() ? folder : folder.parent_path()).filename().string();
  }
  info.name = std::move(name);
  info.hash = loaded.model->content_hash();
  info.architecture = loaded.model->config().architecture_name;
  info.formats = describe_formats(*checkpoint, loaded.model->config());
  info.weight_bytes = checkpoint->total_bytes();
  return info;
}

std::string describe_mismatch(
    std::span<const int32_t> reference, std::span<const int32_t> candidate, const ModelPair& models
) {
  if (std::equal(reference.begin(), reference.end(), candidate.begin(), candidate.end())) return {};
  const auto [a, b] =
      std::mismatch(reference.begin(), reference.end(), candidate.begin(), candidate.end());
  const auto token = [](const LoadedModel& side, std::span<const int32_t> ids, auto at) {
    if (at == ids.end()) return std::string("the end");
    return fmt::format("{} ({})", *at, dump_json(side.tokenizer->token_bytes(*at)));
  };
  return fmt::format(
      "token {} is {} for the reference and {} for the candidate ({} and {} tokens in all)",
      a - reference.begin(),
      token(models.reference, reference, a),
      token(models.candidate, candidate, b),
      reference.size(),
      candidate.size()
  );
}

PairedPrompts encode_for_both(
    const ModelPair& models, const std::vector<ChatInput>& inputs, const std::string& source
) {
  PairedPrompts out;
  for (size_t i = 0; i < inputs.size(); ++i) {
    std::vector<int32_t> reference = models.reference.encode_chat(inputs[i]);
    const std::vector<int32_t> candidate = models.candidate.encode_chat(inputs[i]);
    const std::string difference = describe_mismatch(reference, candidate, models);
    if (!difference.empty()) {
      out.mismatch = fmt::format(
          "the prompts differ, item {} of {}: {}; the candidate's tokenizer or chat template is "
          "not the reference's",
          i,
          source,
          difference
      );
      return out;
    }
    check_room(models.reference, reference.size(), i, source);
    check_room(models.candidate, candidate.size(), i, source);
    out.ids.push_back(std::move(reference));
  }
  return out;
}

DataSource describe_data(const std::filesystem::path& path, int64_t items) {
  return {path.filename().string(), sha256_file(path), items};
}

std::vector<Json> read_items(const std::filesystem::path& path, int64_t limit) {
  std::vector<Json> items = read_jsonl_file(path);
  require_data(!items.empty(), "{}: no items; expected one JSON object a line", path.string());
  if (limit > 0 && static_cast<size_t>(limit) < items.size())
    items.resize(static_cast<size_t>(limit));
  return items;
}

}  // namespace hone
