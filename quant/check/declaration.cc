#include "quant/check/declaration.h"

#include <algorithm>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr std::string_view kMixed = "MIXED_PRECISION";
constexpr std::string_view kLinearClass = "Linear";
constexpr int64_t kNvfp4Group = 16;
constexpr int64_t kMxGroup = 32;
constexpr int64_t kBlock = 128;

struct Algo {
  std::string_view name;
  StoredForm form;
  bool activations;
  bool input_scale;
};

constexpr Algo kAlgos[] = {
    {"FP8", StoredForm::kFp8Tensor, true, true},
    {"FP8_PER_CHANNEL_PER_TOKEN", StoredForm::kFp8Channel, true, false},
    {"FP8_PB_WO", StoredForm::kFp8Grid, false, false},
    {"fp8_pb_wo", StoredForm::kFp8Grid, false, false},
    {"NVFP4", StoredForm::kNvfp4, true, true},
    {"NVFP4_AWQ", StoredForm::kNvfp4, true, true},
    {"W4A16_NVFP4", StoredForm::kNvfp4, false, false},
    {"MXFP8", StoredForm::kMxfp8, true, false},
};

std::vector<std::string> string_list(const Json& object, std::string_view key) {
  std::vector<std::string> list;
  const auto it = object.find(key);
  if (it == object.end() || !it->is_array()) return list;
  for (const Json& item : *it) {
    if (item.is_string()) list.push_back(item.get<std::string>());
  }
  return list;
}

int64_t integer_field(const Json& object, std::string_view key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_number_integer() ? it->get<int64_t>() : 0;
}

// quantization_config of the document or of its text_config.
const Json* find_section(const SnapshotDocument& config) {
  if (!config.document) return nullptr;
  if (const Json* section = object_field(*config.document, "quantization_config")) return section;
  const Json* text = object_field(*config.document, "text_config");
  return text == nullptr ? nullptr : object_field(*text, "quantization_config");
}

// Does the argument block of compressed-tensors say that its scale is found anew for every input?
bool is_dynamic(const Json& arguments) {
  const auto it = arguments.find("dynamic");
  return it != arguments.end() && it->is_boolean() && it->get<bool>();
}

// Left out, the strategy follows from the group size.
std::string strategy_of(const Json& weights, int64_t group) {
  const std::string strategy = string_field(weights, "strategy");
  if (!strategy.empty()) return strategy;
  if (group > 0) return "group";
  return group < 0 ? "channel" : "tensor";
}

// [128, 128], or "128x128" in old files.
bool usual_blocks(const Json& weights) {
  const auto it = weights.find("block_structure");
  if (it == weights.end() || it->is_null()) return true;
  return *it == Json({kBlock, kBlock}) || *it == "128x128";
}

StoredForm form_of_arguments(const Json& weights) {
  const int64_t bits = integer_field(weights, "num_bits");
  const int64_t group = integer_field(weights, "group_size");
  const std::string strategy = strategy_of(weights, group);
  if (string_field(weights, "type") != "float") return StoredForm::kForeign;
  if (bits == 8) {
    if (strategy == "tensor") return StoredForm::kFp8Tensor;
    if (strategy == "channel") return StoredForm::kFp8Channel;
    if (strategy == "block" && usual_blocks(weights)) return StoredForm::kFp8Block;
    if (strategy == "group" && group == kMxGroup) return StoredForm::kMxfp8;
  }
  if (bits == 4) {
    if (strategy == "tensor_group" && group == kNvfp4Group) return StoredForm::kNvfp4;
    if (strategy == "group" && group == kMxGroup) return StoredForm::kMxfp4;
  }
  return StoredForm::kForeign;
}

}  // namespace

std::string string_field(const Json& object, std::string_view key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_string() ? it->get<std::string>() : std::string();
}

const Json* object_field(const Json& object, std::string_view key) {
  const auto it = object.find(key);
  return it != object.end() && it->is_object() ? &*it : nullptr;
}

std::string_view form_name(StoredForm form) {
  switch (form) {
    case StoredForm::kFp8Block:
      return "block FP8";
    case StoredForm::kFp8Grid:
      return "block FP8 (FP8_PB_WO)";
    case StoredForm::kFp8Channel:
      return "FP8 per channel";
    case StoredForm::kFp8Tensor:
      return "FP8 per tensor";
    case StoredForm::kNvfp4:
      return "NVFP4";
    case StoredForm::kMxfp4:
      return "MXFP4";
    case StoredForm::kMxfp8:
      return "MXFP8";
    case StoredForm::kForeign:
      return "another format";
  }
  return "";
}

bool packed_form(StoredForm form) {
  return form == StoredForm::kNvfp4 || form == StoredForm::kMxfp4;
}

std::optional<DeclaredForm> modelopt_form(std::string_view algo) {
  const auto* it = std::ranges::find(kAlgos, algo, &Algo::name);
  if (it == std::end(kAlgos)) return std::nullopt;
  return DeclaredForm{
      it->form, it->activations, it->input_scale, "quant_algo " + std::string(algo)};
}

Declaration::Declaration(const Snapshot& snapshot) {
  section_ = find_section(snapshot.config);
  if (snapshot.quant_file.document)
    file_ = object_field(*snapshot.quant_file.document, "quantization");
  if (file_ != nullptr) file_algo_ = string_field(*file_, "quant_algo");
  if (section_ != nullptr) {
    method_ = string_field(*section_, "quant_method");
    config_algo_ = string_field(*section_, "quant_algo");
  }
  if (section_ == nullptr && file_ == nullptr) return;
  if (method_ == "fp8") {
    dialect_ = QuantDialect::kFp8;
    read_fp8(*section_);
    read_layers(*section_);
  } else if (method_ == "compressed-tensors") {
    dialect_ = QuantDialect::kCompressedTensors;
    read_groups(*section_);
  } else if (method_ == "mxfp4") {
    dialect_ = QuantDialect::kMxfp4;
    excluded_ = NameList(NameStyle::kGlob, string_list(*section_, "modules_to_not_convert"));
    whole_ = DeclaredForm{StoredForm::kMxfp4, false, false, "quant_method mxfp4"};
  } else if (method_ == "modelopt" || (method_.empty() && !algo().empty())) {
    dialect_ = QuantDialect::kModelOpt;
    read_modelopt();
  } else {
    dialect_ = QuantDialect::kForeign;
  }
}

void Declaration::read_fp8(const Json& section) {
  std::vector<std::string> names;
  for (const char* key : {"modules_to_not_convert", "ignored_layers", "ignore"}) {
    for (std::string& name : string_list(section, key)) names.push_back(std::move(name));
  }
  excluded_ = NameList(NameStyle::kGlob, std::move(names));
  const std::string scheme = string_field(section, "activation_scheme");
  DeclaredForm form{StoredForm::kFp8Tensor, true, scheme == "static", "quant_method fp8"};
  const auto block = section.find("weight_block_size");
  if (block != section.end() && !block->is_null()) {
    form.form = StoredForm::kFp8Block;
    const bool two = block->is_array() && block->size() == 2 && (*block)[0].is_number_integer() &&
                     (*block)[1].is_number_integer() && (*block)[0].get<int64_t>() > 0 &&
                     (*block)[1].get<int64_t>() > 0;
    if (two) {
      block_rows_ = (*block)[0].get<int64_t>();
      block_cols_ = (*block)[1].get<int64_t>();
    } else {
      mistake(fmt::format("weight_block_size is {}, expected two sizes", dump_json(*block)));
      form.form = StoredForm::kForeign;
    }
  }
  whole_ = form;
}

void Declaration::read_modelopt() {
  std::vector<std::string> names;
  if (section_ != nullptr) names = string_list(*section_, "ignore");
  if (file_ != nullptr) {
    for (std::string& name : string_list(*file_, "exclude_modules")) {
      if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
    }
  }
  excluded_ = NameList(NameStyle::kGlob, std::move(names));
  if (algo() == kMixed) {
    if (section_ != nullptr) read_layers(*section_);
    if (file_ != nullptr && layers_.empty()) read_layers(*file_);
    return;
  }
  whole_ = modelopt_form(algo()).value_or(DeclaredForm{
      StoredForm::kForeign, false, false, "quant_algo " + algo()});
}

void Declaration::read_layers(const Json& section) {
  const Json* layers = object_field(section, "quantized_layers");
  if (layers == nullptr) return;
  for (const auto& [name, entry] : layers->items()) {
    std::string algo = entry.is_object() ? string_field(entry, "quant_algo") : std::string();
    layer_algo_.emplace(name, algo);
    layers_.emplace_back(name, std::move(algo));
  }
}

void Declaration::read_groups(const Json& section) {
  excluded_ = NameList(NameStyle::kRegex, string_list(section, "ignore"));
  for (const std::string& text : excluded_.mistakes()) mistake("ignore: " + text);
  const Json* groups = object_field(section, "config_groups");
  if (groups == nullptr) return;
  for (const auto& [name, entry] : groups->items()) {
    if (!entry.is_object()) {
      mistake(fmt::format("config_groups.{} is no object", name));
      continue;
    }
    DeclaredGroup group;
    group.name = name;
    group.targets = string_list(entry, "targets");
    group.format = string_field(entry, "format");
    std::vector<std::string> names;
    for (const std::string& target : group.targets) {
      if (target == kLinearClass || target == "LinearBase") {
        group.linear_class = true;
      } else {
        names.push_back(target);
      }
    }
    group.names = NameList(NameStyle::kRegex, std::move(names));
    for (const std::string& text : group.names.mistakes())
      mistake(fmt::format("config_groups.{}.targets: {}", name, text));
    group.weights = object_field(entry, "weights");
    group.activations = object_field(entry, "input_activations");
    if (group.weights != nullptr) group.form.form = form_of_arguments(*group.weights);
    group.form.activations = group.activations != nullptr;
    group.form.input_scale = group.activations != nullptr && !is_dynamic(*group.activations);
    group.form.source = name;
    groups_.push_back(std::move(group));
  }
}

bool Declaration::excludes(std::string_view module, std::string_view fused_layer) const {
  return excluded_.matches(module) || (!fused_layer.empty() && excluded_.matches(fused_layer));
}

std::vector<const DeclaredGroup*> Declaration::claims(std::string_view module) const {
  std::vector<const DeclaredGroup*> exact;
  std::vector<const DeclaredGroup*> expressions;
  std::vector<const DeclaredGroup*> classes;
  for (const DeclaredGroup& group : groups_) {
    const int64_t entry = group.names.match(module);
    if (entry >= 0) {
      const std::string& text = group.names.entries()[static_cast<size_t>(entry)];
      (text == module ? exact : expressions).push_back(&group);
    } else if (group.linear_class) {
      classes.push_back(&group);
    }
  }
  if (!exact.empty()) return exact;
  return expressions.empty() ? classes : expressions;
}

std::optional<DeclaredForm> Declaration::form_of(
    std::string_view module, std::string_view fused_layer
) const {
  if (dialect_ == QuantDialect::kNone || dialect_ == QuantDialect::kForeign) return std::nullopt;
  // A list of layers names a module, or a container of modules ("mlp.experts").
  if (!layer_algo_.empty()) {
    for (size_t end = module.size(); end != std::string_view::npos && end > 0;
         end = module.rfind('.', end - 1)) {
      const auto it = layer_algo_.find(std::string(module.substr(0, end)));
      if (it == layer_algo_.end()) continue;
      return modelopt_form(it->second)
          .value_or(DeclaredForm{StoredForm::kForeign, false, false, it->second});
    }
  }
  if (excludes(module, fused_layer)) return std::nullopt;
  if (dialect_ != QuantDialect::kCompressedTensors) return whole_;
  std::vector<const DeclaredGroup*> groups = claims(module);
  if (groups.empty() && !fused_layer.empty()) groups = claims(fused_layer);
  if (groups.empty() || groups.front()->weights == nullptr) return std::nullopt;
  return groups.front()->form;
}

}  // namespace hone
