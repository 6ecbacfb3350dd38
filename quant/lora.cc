#include "quant/lora.h"

#include <cmath>
#include <cstring>

#include "core/base/error.h"
#include "core/format/load.h"
#include "core/json/ecma_regex.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kPrefix = "base_model.model.";
constexpr const char* kConfig = "adapter_config.json";
constexpr const char* kWeights = "adapter_model.safetensors";

bool flag(const Json& config, const char* key) {
  const auto it = config.find(key);
  return it != config.end() && it->is_boolean() && it->get<bool>();
}

// "…q_proj.lora_A.default.weight" is what get_peft_model's state dict says; files drop "default".
std::string without(std::string text, std::string_view part) {
  const size_t at = text.find(part);
  if (at != std::string::npos) text.erase(at, part.size());
  return text;
}

std::vector<float> floats(const TensorView& view) {
  std::vector<float> values(static_cast<size_t>(view.numel()));
  load_floats(view.type, view.bytes().data(), view.numel(), values.data());
  return values;
}

std::vector<float> transposed(const std::vector<float>& m, int64_t rows, int64_t cols) {
  std::vector<float> result(m.size());
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = 0; j < cols; ++j)
      result[static_cast<size_t>(j * rows + i)] = m[static_cast<size_t>(i * cols + j)];
  }
  return result;
}

}  // namespace

std::shared_ptr<const LoraAdapter> LoraAdapter::open(const fs::path& folder) {
  std::shared_ptr<LoraAdapter> adapter(new LoraAdapter);
  adapter->folder_ = folder;
  adapter->read_config();
  adapter->read_tensors();
  return adapter;
}

void LoraAdapter::read_config() {
  const fs::path path = folder_ / kConfig;
  require_data(
      fs::exists(path), "{}: no {}; expected a PEFT adapter folder", folder_.string(), kConfig
  );
  const std::string source = path.string();
  const Json config = read_json_file(path);
  require_data(config.is_object(), "{}: expected an object", source);
  const std::string type = config.value("peft_type", std::string("LORA"));
  require_data(type == "LORA", "{}: peft_type is {}, only LORA can be merged", source, type);
  require_data(
      !flag(config, "use_dora"),
      "{}: use_dora is true; DoRA rescales whole columns by the norm of the merged weight and is "
      "not "
      "supported: merge it with PEFT first",
      source
  );
  const std::string bias = config.value("bias", std::string("none"));
  require_data(
      bias == "none",
      "{}: bias is \"{}\"; adapters with trained biases are not merged",
      source,
      bias
  );
  const auto alpha = config.find("lora_alpha");
  require_data(
      alpha != config.end() && alpha->is_number(), "{}: lora_alpha is missing or no number", source
  );
  alpha_ = alpha->get<double>();
  rslora_ = flag(config, "use_rslora");
  fan_in_fan_out_ = flag(config, "fan_in_fan_out");
  const auto pattern = config.find("alpha_pattern");
  if (pattern != config.end() && pattern->is_object()) {
    for (const auto& [key, value] : pattern->items()) {
      require_data(value.is_number(), "{}: alpha_pattern.{} is no number", source, key);
      alpha_pattern_[key] = value.get<double>();
    }
  }
}

void LoraAdapter::read_tensors() {
  const fs::path path = folder_ / kWeights;
  require_data(
      fs::exists(path),
      "{}: no {} (adapters in .bin files are pickles, which are not read: save it as safetensors)",
      folder_.string(),
      kWeights
  );
  file_ = SafetensorsFile::open(path);
  for (const std::string& name : file_->names()) {
    std::string base = without(name, ".default");
    require_data(
        base.starts_with(kPrefix), "{}: {} does not begin with \"{}\"", path.string(), name, kPrefix
    );
    base.erase(0, kPrefix.size());
    struct Suffix {
      std::string_view text;
      bool a;
      bool embedding;
    };
    bool found = false;
    for (const Suffix& suffix :
         {Suffix{".lora_A.weight", true, false},
          Suffix{".lora_B.weight", false, false},
          Suffix{".lora_embedding_A", true, true},
          Suffix{".lora_embedding_B", false, true}}) {
      if (!base.ends_with(suffix.text)) continue;
      Pair& pair = pairs_[base.substr(0, base.size() - suffix.text.size())];
      pair.embedding = suffix.embedding;
      (suffix.a ? pair.a : pair.b) = name;
      found = true;
    }
    if (found) continue;
    require_data(
        base.find("lora_") == std::string::npos,
        "{}: {} is a LoRA tensor of a kind that cannot be merged",
        path.string(),
        name
    );
    replacements_[without(base, ".modules_to_save")] = name;
  }
  for (auto& [module, pair] : pairs_) finish(module, pair);
  require_data(
      !pairs_.empty() || !replacements_.empty(), "{}: the adapter is empty", path.string()
  );
}

void LoraAdapter::finish(const std::string& module, Pair& pair) {
  const std::string source = (folder_ / kWeights).string();
  require_data(
      !pair.a.empty() && !pair.b.empty(),
      "{}: {} has lora_{} without lora_{}",
      source,
      module,
      pair.a.empty() ? "B" : "A",
      pair.a.empty() ? "A" : "B"
  );
  const TensorView a = file_->tensor(pair.a);
  const TensorView b = file_->tensor(pair.b);
  require_data(
      a.shape.rank() == 2 && b.shape.rank() == 2 && a.shape.dim(0) == b.shape.dim(1),
      "{}: {} has A {} and B {}, expected [r, in] and [out, r] (convolutions are not merged)",
      source,
      module,
      a.shape.str(),
      b.shape.str()
  );
  pair.rank = a.shape.dim(0);
  require_data(pair.rank > 0, "{}: {} has rank 0", source, module);
  pair.scale = static_cast<float>(scaling(module));
  std::vector<float> left = floats(b);   // [out, r]
  std::vector<float> right = floats(a);  // [r, in]
  pair.rows = b.shape.dim(0);
  pair.cols = a.shape.dim(1);
  // The base stores the transpose: (B A)^T = A^T B^T.
  if (fan_in_fan_out_ || pair.embedding) {
    std::vector<float> other = transposed(right, pair.rank, pair.cols);
    right = transposed(left, pair.rows, pair.rank);
    left = std::move(other);
    std::swap(pair.rows, pair.cols);
  }
  pair.left = std::move(left);
  pair.right = std::move(right);
}

double LoraAdapter::scaling(const std::string& module) const {
  const Pair& p = pair(module);
  double alpha = alpha_;
  // PEFT: the first pattern that is a suffix of the name at a dot, as a regular expression.
  for (const auto& [pattern, value] : alpha_pattern_) {
    if (!EcmaRegex("^(.*\\.)?(" + pattern + ")$").matches(module)) continue;
    alpha = value;
    break;
  }
  const auto rank = static_cast<double>(p.rank);
  return rslora_ ? alpha / std::sqrt(rank) : alpha / rank;
}

const LoraAdapter::Pair& LoraAdapter::pair(const std::string& module) const {
  const auto it = pairs_.find(module);
  require(it != pairs_.end(), "{}: no delta for {}", folder_.string(), module);
  return it->second;
}

std::vector<std::string> LoraAdapter::modules() const {
  std::vector<std::string> names;
  for (const auto& [module, pair] : pairs_) names.push_back(module);
  return names;
}

std::vector<std::string> LoraAdapter::replacements() const {
  std::vector<std::string> names;
  for (const auto& [tensor, name] : replacements_) names.push_back(tensor);
  return names;
}

TensorView LoraAdapter::replacement(const std::string& tensor) const {
  return file_->tensor(replacements_.at(tensor));
}

void LoraAdapter::check_shape(const std::string& module, int64_t rows, int64_t cols) const {
  const Pair& p = pair(module);
  require_data(
      p.rows == rows && p.cols == cols,
      "{}: the delta of {} is [{}, {}], the weight is [{}, {}]",
      (folder_ / kWeights).string(),
      module,
      p.rows,
      p.cols,
      rows,
      cols
  );
}

void LoraAdapter::add_rows(const std::string& module, int64_t row0, int64_t n, float* values)
    const {
  const Pair& p = pair(module);
  check(row0 >= 0 && row0 + n <= p.rows, "{}: rows {} to {} of {}", module, row0, row0 + n, p.rows);
  std::vector<float> delta(static_cast<size_t>(p.cols));
  for (int64_t row = 0; row < n; ++row) {
    std::fill(delta.begin(), delta.end(), 0.0F);
    const float* weights = p.left.data() + (row0 + row) * p.rank;
    for (int64_t k = 0; k < p.rank; ++k) {
      const float* from = p.right.data() + k * p.cols;
      for (int64_t j = 0; j < p.cols; ++j) delta[static_cast<size_t>(j)] += weights[k] * from[j];
    }
    float* to = values + row * p.cols;
    for (int64_t j = 0; j < p.cols; ++j) to[j] += p.scale * delta[static_cast<size_t>(j)];
  }
}

}  // namespace hone
