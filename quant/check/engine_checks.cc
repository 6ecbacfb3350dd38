// HQ5xx: what single engines refuse or do badly. Sources: the loaders of vLLM (fp8, modelopt,
// compressed_tensors), SGLang (modelopt_quant) and TensorRT-LLM (model_config, linear), as far as
// one stored version of each could be read; docs/check.md says which facts are older.
#include <algorithm>
#include <array>
#include <set>

#include "core/base/error.h"
#include "quant/check/check_table.h"

namespace hone {
namespace {

constexpr std::string_view kMixed = "MIXED_PRECISION";
constexpr int64_t kFp8Block = 128;
// SGLang pads NVFP4 scales to tiles of 128 rows by 4 scales of 16 columns.
constexpr int64_t kScaleTileRows = 128;
constexpr int64_t kScaleTileCols = 64;

bool is_dialect(const CheckContext& c, QuantDialect dialect) {
  return c.declared.dialect() == dialect;
}

bool nvfp4_algo(const CheckContext& c) {
  const std::optional<DeclaredForm> form = modelopt_form(c.declared.algo());
  return is_dialect(c, QuantDialect::kModelOpt) && form && form->form == StoredForm::kNvfp4;
}

void exclude_list_is_not_empty(const CheckContext& c, Findings& found) {
  if (!nvfp4_algo(c) || c.declared.file_section() == nullptr) return;
  const auto it = c.declared.file_section()->find("exclude_modules");
  if (it == c.declared.file_section()->end() || !it->is_array() || it->empty())
    found.add("exclude_modules", fmt::format("{} excludes nothing", kQuantFile));
}

void quant_file_has_its_keys(const CheckContext& c, Findings& found) {
  // vLLM reads this block only where config.json has none.
  const Json* file = c.declared.file_section();
  if (!nvfp4_algo(c) || file == nullptr || c.declared.section() != nullptr) return;
  for (const char* key : {"group_size", "kv_cache_quant_algo", "exclude_modules"}) {
    if (!file->contains(key)) found.add(key, fmt::format("{} has no such key", kQuantFile));
  }
}

void group_size_is_said(const CheckContext& c, Findings& found) {
  const Json* file = c.declared.file_section();
  if (nvfp4_algo(c) && file != nullptr && !file->contains("group_size"))
    found.add("group_size", fmt::format("{} has no such key", kQuantFile));
}

void quant_file_is_there(const CheckContext& c, Findings& found) {
  if (is_dialect(c, QuantDialect::kModelOpt) && !c.files.quant_file.exists)
    found.add(kQuantFile, "the description is in config.json only");
}

void require_algo(
    const CheckContext& c, std::span<const std::string_view> accepted, Findings& found
) {
  if (!is_dialect(c, QuantDialect::kModelOpt)) return;
  const std::string& algo = c.declared.algo();
  if (std::ranges::find(accepted, algo) == accepted.end())
    found.add(
        "quant_algo", fmt::format("it is \"{}\"; accepted are {}", algo, fmt::join(accepted, ", "))
    );
}

void vllm_knows_the_algorithm(const CheckContext& c, Findings& found) {
  constexpr std::string_view kAccepted[] = {
      "FP8",
      "FP8_PER_CHANNEL_PER_TOKEN",
      "FP8_PB_WO",
      "fp8_pb_wo",
      "NVFP4",
      "W4A16_NVFP4",
      "MXFP8",
      kMixed};
  require_algo(c, kAccepted, found);
}

void sglang_knows_the_algorithm(const CheckContext& c, Findings& found) {
  constexpr std::string_view kAccepted[] = {"FP8", "NVFP4"};
  require_algo(c, kAccepted, found);
}

void vllm_knows_the_layers(const CheckContext& c, Findings& found) {
  constexpr std::string_view kAccepted[] = {"FP8", "NVFP4", "W4A16_NVFP4"};
  if (c.declared.algo() != kMixed) return;
  for (const auto& [layer, algo] : c.declared.layers()) {
    if (std::ranges::find(kAccepted, algo) == std::end(kAccepted))
      found.add(
          layer, fmt::format("it is \"{}\"; accepted are {}", algo, fmt::join(kAccepted, ", "))
      );
  }
}

template <typename Judge>
void each_group(const CheckContext& c, Judge judge) {
  if (!is_dialect(c, QuantDialect::kCompressedTensors)) return;
  for (const DeclaredGroup& group : c.declared.groups()) {
    if (group.weights != nullptr) judge("config_groups." + group.name, group);
  }
}

void no_tensor_scales_in_groups(const CheckContext& c, Findings& found) {
  each_group(c, [&](const std::string& path, const DeclaredGroup& group) {
    if (group.form.form == StoredForm::kFp8Tensor)
      found.add(path, "its weights have strategy tensor; accepted are channel and block");
  });
}

void nvfp4_groups_have_activations(const CheckContext& c, Findings& found) {
  each_group(c, [&](const std::string& path, const DeclaredGroup& group) {
    if (group.form.form != StoredForm::kNvfp4) return;
    if (group.activations == nullptr) {
      found.add(path, "input_activations is null");
    } else if (string_field(*group.activations, "strategy") != "tensor_group") {
      found.add(path, "input_activations have another strategy than tensor_group");
    }
  });
}

void many_groups_name_modules(const CheckContext& c, Findings& found) {
  if (c.declared.groups().size() < 2) return;
  each_group(c, [&](const std::string& path, const DeclaredGroup& group) {
    if (group.linear_class) found.add(path, "it targets the class \"Linear\" beside other groups");
  });
}

void many_groups_match_something(const CheckContext& c, Findings& found) {
  if (c.declared.groups().size() < 2 || c.files.incomplete) return;
  each_group(c, [&](const std::string& path, const DeclaredGroup& group) {
    if (group.linear_class) return;
    const bool any = std::ranges::any_of(c.modules.modules(), [&](const CheckedModule& module) {
      return group.names.matches(module.name);
    });
    if (!any) found.add(path, "none of its targets matches a module");
  });
}

void names_are_per_model(const CheckContext& c, Findings& found) {
  each_group(c, [&](const std::string& path, const DeclaredGroup& group) {
    if (group.form.form == StoredForm::kNvfp4)
      found.add(path, "NVFP4 tensors under the names of compressed-tensors");
  });
}

void no_mix_of_mx_formats(const CheckContext& c, Findings& found) {
  std::set<StoredForm> forms;
  for (const DeclaredGroup& group : c.declared.groups()) forms.insert(group.form.form);
  if (forms.contains(StoredForm::kMxfp4) && forms.contains(StoredForm::kMxfp8))
    found.add("config_groups", "one group is MXFP4, another MXFP8");
}

void fp8_blocks_are_square(const CheckContext& c, Findings& found) {
  const int64_t rows = c.declared.block_rows();
  const int64_t cols = c.declared.block_cols();
  if (rows != 0 && (rows != kFp8Block || cols != kFp8Block))
    found.add("weight_block_size", fmt::format("it is [{}, {}]", rows, cols));
}

void fp8_is_in_blocks(const CheckContext& c, Findings& found) {
  if (!is_dialect(c, QuantDialect::kFp8) || c.declared.block_rows() != 0) return;
  if (string_field(*c.declared.section(), "activation_scheme") == "static")
    found.add("activation_scheme", "static per-tensor FP8 under quant_method fp8");
}

void fp8_format_is_said(const CheckContext& c, Findings& found) {
  if (is_dialect(c, QuantDialect::kFp8) && string_field(*c.declared.section(), "fmt").empty())
    found.add("fmt", "quantization_config has no such key");
}

void nvfp4_shapes_fill_scale_tiles(const CheckContext& c, Findings& found) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (!module.consistent() || module.declared->form != StoredForm::kNvfp4 || module.rows == 0)
      continue;
    if (module.rows % kScaleTileRows == 0 && module.cols % kScaleTileCols == 0) continue;
    found.add(module.name, fmt::format("it is [{}, {}]", module.rows, module.cols));
  }
}

void grid_blocks_are_full(const CheckContext& c, Findings& found) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (!module.consistent() || module.declared->form != StoredForm::kFp8Grid) continue;
    if (module.rows % kFp8Block != 0 || module.cols % kFp8Block != 0)
      found.add(module.name, fmt::format("it is [{}, {}]", module.rows, module.cols));
  }
}

void vision_is_not_quantized(const CheckContext& c, Findings& found) {
  if (!is_dialect(c, QuantDialect::kModelOpt)) return;
  for (const CheckedModule& module : c.modules.modules()) {
    if (module.role == Role::kVision && module.quantized())
      found.add(module.name, "it belongs to the vision part and is quantized");
  }
}

void kv_b_is_decoded(const CheckContext& c, Findings& found) {
  for (const CheckedModule& module : c.modules.modules()) {
    if (module.role == Role::kAttnKvB && module.consistent() &&
        module.declared->form == StoredForm::kFp8Block)
      found.add(module.name, "it is block FP8 and is decoded to BF16 at load");
  }
}

void fused_tensors_have_one_scalar(const CheckContext& c, Findings& found) {
  for (const CheckedModule& module : c.modules.modules()) {
    const bool fused = module.role == Role::kAttnQkv || module.role == Role::kMlpGateUp;
    if (!fused || !module.consistent()) continue;
    if (module.declared->form == StoredForm::kNvfp4 ||
        module.declared->form == StoredForm::kFp8Tensor)
      found.add(module.name, "it is fused on disk and has one scalar for all its parts");
  }
}

// What a config says of the KV cache, where it is an object.
bool float8(const Json& scheme) {
  const auto bits = scheme.find("num_bits");
  return scheme.is_object() && bits != scheme.end() && *bits == 8 &&
         string_field(scheme, "type") == "float";
}

void kv_scheme_is_float8(const CheckContext& c, QuantDialect dialect, Findings& found) {
  if (!is_dialect(c, dialect) || c.declared.section() == nullptr) return;
  const auto scheme = c.declared.section()->find("kv_cache_scheme");
  if (scheme == c.declared.section()->end() || scheme->is_null() || float8(*scheme)) return;
  found.add("kv_cache_scheme", fmt::format("it is {}", dump_json(*scheme)));
}

void vllm_kv_scheme_is_float8(const CheckContext& c, Findings& found) {
  kv_scheme_is_float8(c, QuantDialect::kModelOpt, found);
}

void trtllm_kv_scheme_is_float8(const CheckContext& c, Findings& found) {
  kv_scheme_is_float8(c, QuantDialect::kCompressedTensors, found);
}

void values_have_scales_of_their_own(const CheckContext& c, Findings& found) {
  if (!c.files.config.document) return;
  const auto says = [](const Json* object) {
    if (object == nullptr) return false;
    const auto it = object->find("attention_k_eq_v");
    return it != object->end() && *it == true;
  };
  const Json& config = *c.files.config.document;
  if (!says(&config) && !says(object_field(config, "text_config"))) return;
  for (const CheckedModule& module : c.modules.modules()) {
    if (module.role != Role::kAttnK || !module.consistent()) continue;
    const std::string parent = module.name.substr(0, module.name.rfind('.'));
    if (c.modules.find(parent + ".v_proj") == nullptr)
      found.add(module.name, "values are made from these keys, without scales of their own");
  }
}

constexpr CheckLevel kFault = CheckLevel::kFault;
constexpr CheckLevel kWarning = CheckLevel::kWarning;
constexpr CheckNeeds kNothing = CheckNeeds::kNothing;

constexpr Check kChecks[] = {
    {"HQ501",
     kFault,
     kSglang,
     kNothing,
     "SGLang refuses an empty exclude list",
     "list at least lm_head in exclude_modules",
     exclude_list_is_not_empty},
    {"HQ502",
     kFault,
     kVllm,
     kNothing,
     "vLLM misses a key of hf_quant_config.json",
     "write group_size, kv_cache_quant_algo (null is allowed) and exclude_modules",
     quant_file_has_its_keys},
    {"HQ503",
     kFault,
     kSglang,
     kNothing,
     "SGLang misses group_size in hf_quant_config.json",
     "write group_size 16",
     group_size_is_said},
    {"HQ504",
     kWarning,
     kSglang,
     kNothing,
     "Older SGLang versions read hf_quant_config.json only",
     "write that file beside quantization_config",
     quant_file_is_there},
    {"HQ505",
     kFault,
     kVllm,
     kNothing,
     "vLLM does not know the ModelOpt algorithm",
     "quantize with an accepted scheme; NVFP4 and FP8 load everywhere",
     vllm_knows_the_algorithm},
    {"HQ506",
     kFault,
     kSglang,
     kNothing,
     "SGLang does not know the ModelOpt algorithm",
     "quantize with NVFP4 or FP8 (the version that was read takes no other)",
     sglang_knows_the_algorithm},
    {"HQ507",
     kFault,
     kVllm,
     kNothing,
     "vLLM does not know an algorithm of a mixed checkpoint",
     "use FP8, NVFP4 and W4A16_NVFP4 in quantized_layers",
     vllm_knows_the_layers},
    {"HQ511",
     kFault,
     kTensorrtLlm,
     kNothing,
     "TensorRT-LLM refuses FP8 with tensor scales from compressed-tensors",
     "use the modelopt dialect, or channel scales with per-token activations",
     no_tensor_scales_in_groups},
    {"HQ512",
     kFault,
     kTensorrtLlm,
     kNothing,
     "TensorRT-LLM refuses NVFP4 groups without tensor_group activations",
     "use the modelopt dialect (W4A16_NVFP4), or quantize the activations too",
     nvfp4_groups_have_activations},
    {"HQ513",
     kFault,
     kTensorrtLlm,
     kNothing,
     "TensorRT-LLM refuses class names as targets beside other groups",
     "list modules by exact name in every group",
     many_groups_name_modules},
    {"HQ514",
     kFault,
     kTensorrtLlm,
     kNothing,
     "TensorRT-LLM refuses groups whose targets match nothing",
     "remove the group, or use the names of the checkpoint",
     many_groups_match_something},
    {"HQ515",
     kWarning,
     kTensorrtLlm,
     kNothing,
     "TensorRT-LLM reads NVFP4 of compressed-tensors for some models only",
     "convert to the modelopt dialect: only names and scalars change",
     names_are_per_model},
    {"HQ516",
     kFault,
     kVllm,
     kNothing,
     "vLLM does not load MXFP4 and MXFP8 groups together",
     "use one of them, the rest in FP8 or BF16",
     no_mix_of_mx_formats},
    {"HQ521",
     kFault,
     kTensorrtLlm,
     kNothing,
     "TensorRT-LLM reads block FP8 with blocks of [128, 128] only",
     "quantize with weight_block_size [128, 128]",
     fp8_blocks_are_square},
    {"HQ522",
     kFault,
     kTensorrtLlm,
     kNothing,
     "TensorRT-LLM takes static FP8 under quant_method fp8 for block FP8",
     "use the modelopt dialect (quant_algo FP8)",
     fp8_is_in_blocks},
    {"HQ523",
     kWarning,
     kSglang,
     kNothing,
     "SGLang wants \"fmt\" to know the FP8 format",
     "add \"fmt\": \"e4m3\" to quantization_config",
     fp8_format_is_said},
    {"HQ524",
     kWarning,
     kSglang,
     kNothing,
     "SGLang versions fail on NVFP4 shapes that do not fill their scale tiles",
     "keep such modules (rows no multiple of 128, columns none of 64) unquantized for old versions",
     nvfp4_shapes_fill_scale_tiles},
    {"HQ525",
     kFault,
     kVllm,
     kNothing,
     "vLLM wants full blocks under FP8_PB_WO",
     "leave modules unquantized whose sizes 128 does not divide",
     grid_blocks_are_full},
    {"HQ531",
     kFault,
     kVllm,
     kNothing,
     "vLLM builds vision parts of ModelOpt checkpoints unquantized",
     "write the vision part in BF16 and exclude it",
     vision_is_not_quantized},
    {"HQ532",
     kWarning,
     kTensorrtLlm,
     kNothing,
     "TensorRT-LLM decodes kv_b projections to BF16",
     "nothing to do; they take twice the memory there",
     kv_b_is_decoded},
    {"HQ533",
     kWarning,
     kVllm,
     kNothing,
     "Older vLLM versions leave scalars of matrices fused on disk uninitialized",
     "split the fused tensor when writing, or use a vLLM with pull request 39765",
     fused_tensors_have_one_scalar},
    {"HQ534",
     kWarning,
     kVllm,
     kNothing,
     "vLLM ignores a KV cache scheme in config.json that is not 8-bit float",
     "write {\"num_bits\": 8, \"type\": \"float\"}, or declare it in hf_quant_config.json",
     vllm_kv_scheme_is_float8},
    {"HQ535",
     kFault,
     kTensorrtLlm,
     kNothing,
     "TensorRT-LLM refuses KV cache schemes of compressed-tensors other than 8-bit float",
     "set kv_cache_scheme to null or to 8-bit float",
     trtllm_kv_scheme_is_float8},
    {"HQ536",
     kWarning,
     kTensorrtLlm,
     kNothing,
     "TensorRT-LLM looks for scales of values that are made from keys",
     "keep the attention of attention_k_eq_v models unquantized",
     values_have_scales_of_their_own},
};

}  // namespace

std::span<const Check> engine_checks() {
  return kChecks;
}

}  // namespace hone
