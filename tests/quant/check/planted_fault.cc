#include "tests/quant/check/planted_fault.h"

#include <cmath>
#include <cstring>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/checkpoint.h"
#include "core/io/dialect.h"
#include "quant/apply.h"
#include "quant/select/planner.h"
#include "quant/source.h"
#include "runtime/model/config.h"
#include "tests/fixture/random_checkpoint.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing_fixture::fresh_path;
using testing_fixture::RandomCheckpoint;
using testing_fixture::write_random_checkpoint;

StoredCheckpoint dense(const std::string& name, const RandomCheckpoint& options) {
  const fs::path folder = fresh_path("check-base-" + name);
  write_random_checkpoint(folder, options);
  StoredCheckpoint checkpoint = StoredCheckpoint::read(folder);
  fs::remove_all(folder);
  return checkpoint;
}

StoredCheckpoint quantized(
    const std::string& name, const char* scheme, const RandomCheckpoint& options = {}
) {
  const fs::path source = fresh_path("check-base-" + name + "-in");
  const fs::path output = fresh_path("check-base-" + name);
  write_random_checkpoint(source, options);
  const auto checkpoint = Checkpoint::open(source);
  PlanRequest request;
  request.architecture = options.architecture;
  request.scheme = find_scheme(scheme);
  request.tensors = list_source(*checkpoint, nullptr);
  const Plan plan = make_plan(request);
  ApplyOptions apply;
  for (const PlanEntry& entry : plan.entries) {
    if (entry.scheme != nullptr) apply.input_scales[entry.module] = 0.5F;
  }
  apply_plan(*checkpoint, plan, output, apply)->commit();
  StoredCheckpoint result = StoredCheckpoint::read(output);
  fs::remove_all(source);
  fs::remove_all(output);
  return result;
}

std::vector<std::string> modules_with(const StoredCheckpoint& checkpoint, const std::string& part) {
  std::vector<std::string> modules;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    if (name.ends_with(part)) modules.push_back(name.substr(0, name.size() - part.size()));
  }
  return modules;
}

Json ct_section(const Json& groups, const std::string& format) {
  return {
      {"quant_method", "compressed-tensors"},
      {"format", format},
      {"quantization_status", "compressed"},
      {"config_groups", groups},
      {"ignore", {"lm_head"}},
      {"kv_cache_scheme", nullptr},
      {"global_compression_ratio", nullptr}};
}

Json nvfp4_arguments(const Json& dynamic) {
  return {
      {"num_bits", 4},
      {"type", "float"},
      {"strategy", "tensor_group"},
      {"group_size", 16},
      {"symmetric", true},
      {"dynamic", dynamic}};
}

Json fp8_arguments(const std::string& strategy, bool dynamic) {
  return {
      {"num_bits", 8},
      {"type", "float"},
      {"strategy", strategy},
      {"symmetric", true},
      {"dynamic", dynamic}};
}

Json nvfp4_group(const Json& targets) {
  return {
      {"targets", targets},
      {"format", "nvfp4-pack-quantized"},
      {"weights", nvfp4_arguments(false)},
      {"input_activations", nvfp4_arguments("local")},
      {"output_activations", nullptr}};
}

Json channel_group(const Json& targets) {
  return {
      {"targets", targets},
      {"format", "float-quantized"},
      {"weights", fp8_arguments("channel", false)},
      {"input_activations", fp8_arguments("token", true)},
      {"output_activations", nullptr}};
}

// Names and scalars of ModelOpt's NVFP4 as compressed-tensors has them; codes and block scales
// stay.
void rename_nvfp4(StoredCheckpoint& checkpoint, const std::string& module) {
  const float global = checkpoint.scalar(module + ".weight_scale_2");
  const float input = checkpoint.scalar(module + ".input_scale");
  rename(checkpoint, module + ".weight", module + ".weight_packed");
  checkpoint.tensors.erase(module + ".weight_scale_2");
  checkpoint.tensors.erase(module + ".input_scale");
  checkpoint.tensors[module + ".weight_global_scale"] = f32({1}, {1.0F / global});
  checkpoint.tensors[module + ".input_global_scale"] = f32({1}, {1.0F / input});
}

void to_channel(StoredCheckpoint& checkpoint, const std::string& module) {
  const int64_t rows = checkpoint.tensors.at(module + ".weight").shape[0];
  checkpoint.tensors.erase(module + ".weight_scale_inv");
  checkpoint.tensors[module + ".weight_scale"] =
      f32({rows, 1}, std::vector<float>(static_cast<size_t>(rows), 0.01F));
}

void to_tensor(StoredCheckpoint& checkpoint, const std::string& module) {
  checkpoint.tensors.erase(module + ".weight_scale_inv");
  checkpoint.tensors[module + ".weight_scale"] = f32({}, {0.01F});
  checkpoint.tensors[module + ".input_scale"] = f32({}, {0.25F});
}

// The tensors of attention modules from block FP8, all others from `rest`.
template <typename Change>
StoredCheckpoint with_fp8_attention(StoredCheckpoint rest, Change change) {
  for (const std::string& layer : {kLayer0, kLayer1}) remove_all(rest, layer + "self_attn.");
  StoredCheckpoint attention = sound_fp8();
  for (const std::string& module : modules_with(attention, ".weight_scale_inv"))
    change(attention, module);
  for (const auto& [name, tensor] : attention.tensors) {
    if (name.find(".self_attn.") != std::string::npos) rest.tensors[name] = tensor;
  }
  return rest;
}

}  // namespace

const StoredCheckpoint& sound_dense() {
  static const StoredCheckpoint checkpoint = dense("dense", {});
  return checkpoint;
}

const StoredCheckpoint& sound_fp8() {
  static const StoredCheckpoint checkpoint = quantized("fp8", "fp8-block");
  return checkpoint;
}

const StoredCheckpoint& sound_nvfp4() {
  static const StoredCheckpoint checkpoint = quantized("nvfp4", "nvfp4");
  return checkpoint;
}

const StoredCheckpoint& sound_nvfp4a16() {
  static const StoredCheckpoint checkpoint = quantized("nvfp4a16", "nvfp4a16");
  return checkpoint;
}

const StoredCheckpoint& sound_experts() {
  static const StoredCheckpoint checkpoint = [] {
    RandomCheckpoint options;
    options.architecture = "Qwen3MoeForCausalLM";
    options.experts = 3;
    options.intermediate = 128;
    StoredCheckpoint made = quantized("experts", "nvfp4", options);
    edit_config(made, [](Json& config) { config["num_experts"] = 3; });
    return made;
  }();
  return checkpoint;
}

const StoredCheckpoint& sound_modelopt_fp8() {
  static const StoredCheckpoint checkpoint = [] {
    StoredCheckpoint made = sound_fp8();
    for (const std::string& module : modules_with(made, ".weight_scale_inv"))
      to_tensor(made, module);
    edit_config(made, [](Json& config) {
      config["quantization_config"] = {
          {"quant_method", "modelopt"}, {"quant_algo", "FP8"}, {"ignore", {"lm_head"}}};
    });
    made.set_json(
        "hf_quant_config.json",
        {{"producer", {{"name", "modelopt"}}},
         {"quantization",
          {{"quant_algo", "FP8"},
           {"kv_cache_quant_algo", nullptr},
           {"exclude_modules", {"lm_head"}}}}}
    );
    return made;
  }();
  return checkpoint;
}

const StoredCheckpoint& sound_mixed() {
  static const StoredCheckpoint checkpoint = [] {
    StoredCheckpoint made = with_fp8_attention(sound_nvfp4(), to_tensor);
    Json layers = Json::object();
    for (const std::string& module : modules_with(made, ".weight_scale"))
      layers[module] = {
          {"quant_algo", module.find(".mlp.") == std::string::npos ? "FP8" : "NVFP4"}};
    edit_section(made, [&](Json& section) {
      section = {
          {"quant_method", "modelopt"},
          {"quant_algo", "MIXED_PRECISION"},
          {"quantized_layers", layers},
          {"ignore", {"lm_head"}}};
    });
    edit_quant_file(made, [&](Json& file) {
      file = {
          {"quant_algo", "MIXED_PRECISION"},
          {"kv_cache_quant_algo", nullptr},
          {"quantized_layers", layers},
          {"exclude_modules", {"lm_head"}}};
    });
    return made;
  }();
  return checkpoint;
}

const StoredCheckpoint& sound_ct_nvfp4() {
  static const StoredCheckpoint checkpoint = [] {
    StoredCheckpoint made = sound_nvfp4();
    for (const std::string& module : modules_with(made, ".weight_scale_2"))
      rename_nvfp4(made, module);
    made.files.erase("hf_quant_config.json");
    edit_section(made, [](Json& section) {
      section =
          ct_section({{"group_0", nvfp4_group(Json::array({"Linear"}))}}, "nvfp4-pack-quantized");
    });
    return made;
  }();
  return checkpoint;
}

const StoredCheckpoint& sound_ct_channel() {
  static const StoredCheckpoint checkpoint = [] {
    StoredCheckpoint made = sound_fp8();
    for (const std::string& module : modules_with(made, ".weight_scale_inv"))
      to_channel(made, module);
    edit_section(made, [](Json& section) {
      section =
          ct_section({{"group_0", channel_group(Json::array({"Linear"}))}}, "float-quantized");
    });
    return made;
  }();
  return checkpoint;
}

const StoredCheckpoint& sound_ct_mixed() {
  static const StoredCheckpoint checkpoint = [] {
    StoredCheckpoint made = with_fp8_attention(sound_ct_nvfp4(), to_channel);
    edit_section(made, [](Json& section) {
      section = ct_section(
          {{"group_0", channel_group(Json::array({"re:.*self_attn\\..*"}))},
           {"group_1", nvfp4_group(Json::array({"re:.*mlp\\..*"}))}},
          "mixed-precision"
      );
    });
    return made;
  }();
  return checkpoint;
}

const StoredCheckpoint& sound_two_shards() {
  static const StoredCheckpoint checkpoint = [] {
    StoredCheckpoint made = sound_dense();
    for (const auto& [name, tensor] : made.tensors) {
      if (name.starts_with(kLayer1)) made.second_shard.insert(name);
    }
    return made;
  }();
  return checkpoint;
}

CheckReport report_of(const StoredCheckpoint& checkpoint, const CheckOptions& options) {
  const fs::path folder = fresh_path("check-one");
  checkpoint.write(folder);
  CheckReport report = check_checkpoint(folder, options);
  fs::remove_all(folder);
  return report;
}

void expect_found(const PlantedFault& fault) {
  StoredCheckpoint checkpoint = fault.base();
  if (fault.plant) fault.plant(checkpoint);
  const fs::path folder = fresh_path("check-fault");
  checkpoint.write(folder);
  if (fault.damage) fault.damage(folder);
  const CheckReport report = check_checkpoint(folder, fault.options);
  fs::remove_all(folder);
  bool found = false;
  for (const CheckResult& result : report.results) {
    if (result.id == fault.id) {
      found = true;
      EXPECT_GT(result.count, 0);
      ASSERT_FALSE(result.findings.empty());
      EXPECT_FALSE(result.findings.front().subject.empty());
      EXPECT_FALSE(result.findings.front().text.empty());
    } else {
      EXPECT_NE(result.level, CheckLevel::kFault) << "another fault: " << check_text(report);
    }
  }
  EXPECT_TRUE(found) << fault.id << " is missing: " << check_text(report);
}

void edit_config(StoredCheckpoint& checkpoint, const std::function<void(Json&)>& edit) {
  Json config = checkpoint.json("config.json");
  edit(config);
  checkpoint.set_json("config.json", config);
}

void edit_section(StoredCheckpoint& checkpoint, const std::function<void(Json&)>& edit) {
  edit_config(checkpoint, [&](Json& config) { edit(config["quantization_config"]); });
}

void edit_quant_file(StoredCheckpoint& checkpoint, const std::function<void(Json&)>& edit) {
  Json file = checkpoint.json("hf_quant_config.json");
  edit(file["quantization"]);
  checkpoint.set_json("hf_quant_config.json", file);
}

void exclude(StoredCheckpoint& checkpoint, const std::string& module) {
  edit_section(checkpoint, [&](Json& section) {
    for (const char* key : {"ignore", "ignored_layers", "modules_to_not_convert"}) {
      if (section.contains(key)) section[key].push_back(module);
    }
  });
  if (checkpoint.files.contains("hf_quant_config.json"))
    edit_quant_file(checkpoint, [&](Json& file) { file["exclude_modules"].push_back(module); });
}

void rename(StoredCheckpoint& checkpoint, const std::string& from, const std::string& to) {
  auto node = checkpoint.tensors.extract(from);
  ASSERT_FALSE(node.empty()) << from;
  node.key() = to;
  checkpoint.tensors.insert(std::move(node));
}

void remove_all(StoredCheckpoint& checkpoint, const std::string& prefix) {
  const size_t removed = std::erase_if(checkpoint.tensors, [&](const auto& tensor) {
    return tensor.first.starts_with(prefix);
  });
  ASSERT_GT(removed, 0U) << prefix;
}

StoredBytes f32(std::vector<int64_t> shape, const std::vector<float>& values) {
  StoredBytes tensor{"F32", std::move(shape), std::string(values.size() * sizeof(float), '\0')};
  std::memcpy(tensor.bytes.data(), values.data(), tensor.bytes.size());
  return tensor;
}

StoredBytes bf16_ones(int64_t rows, int64_t cols) {
  StoredBytes tensor{"BF16", {rows, cols}, ""};
  for (int64_t i = 0; i < rows * cols; ++i) tensor.bytes += std::string("\x80\x3F", 2);
  return tensor;
}

void make_dense(StoredCheckpoint& checkpoint, const std::string& module) {
  const StoredBytes& codes = checkpoint.tensors.at(module + ".weight");
  const int64_t cols = codes.type == "U8" ? codes.shape[1] * 2 : codes.shape[1];
  StoredBytes ones = bf16_ones(codes.shape[0], cols);
  remove_all(checkpoint, module + ".");
  checkpoint.tensors[module + ".weight"] = std::move(ones);
}

}  // namespace hone
