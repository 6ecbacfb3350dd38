#include <gtest/gtest.h>

#include "tests/quant/check/planted_fault.h"

namespace hone {

std::vector<PlantedFault> engine_faults() {
  const auto fault = [](const char* id,
                        const char* name,
                        Engines engine,
                        const StoredCheckpoint& (*base)(),
                        std::function<void(StoredCheckpoint&)> plant = nullptr) {
    return PlantedFault{
        .id = id,
        .name = name,
        .base = base,
        .plant = std::move(plant),
        .options = {.engines = engine}};
  };
  const auto section = [&](const char* id,
                           const char* name,
                           Engines engine,
                           const StoredCheckpoint& (*base)(),
                           std::function<void(Json&)> edit) {
    return fault(id, name, engine, base, [edit = std::move(edit)](StoredCheckpoint& c) {
      edit_section(c, edit);
    });
  };
  return {
      fault(
          "HQ501",
          "EmptyExcludeList",
          kSglang,
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            edit_quant_file(c, [](Json& j) { j["exclude_modules"] = Json::array(); });
          }
      ),
      fault(
          "HQ502",
          "NoKvKey",
          kVllm,
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            edit_config(c, [](Json& j) { j.erase("quantization_config"); });
            edit_quant_file(c, [](Json& j) { j.erase("kv_cache_quant_algo"); });
          }
      ),
      fault(
          "HQ503",
          "NoGroupSize",
          kSglang,
          sound_nvfp4,
          [](StoredCheckpoint& c) { edit_quant_file(c, [](Json& j) { j.erase("group_size"); }); }
      ),
      fault(
          "HQ504",
          "NoQuantFile",
          kSglang,
          sound_nvfp4,
          [](StoredCheckpoint& c) { c.files.erase("hf_quant_config.json"); }
      ),
      fault(
          "HQ505",
          "AlgorithmOfTensorrt",
          kVllm,
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            edit_section(c, [](Json& j) { j["quant_algo"] = "NVFP4_AWQ"; });
            edit_quant_file(c, [](Json& j) { j["quant_algo"] = "NVFP4_AWQ"; });
          }
      ),
      fault("HQ506", "WeightsOnly", kSglang, sound_nvfp4a16),
      fault("HQ506", "Mixed", kSglang, sound_mixed),
      fault(
          "HQ507",
          "MixedWithAwq",
          kVllm,
          sound_mixed,
          [](StoredCheckpoint& c) {
            const auto edit = [](Json& j) {
              j["quantized_layers"][kLayer0 + "mlp.down_proj"]["quant_algo"] = "NVFP4_AWQ";
            };
            edit_section(c, edit);
            edit_quant_file(c, edit);
          }
      ),
      section(
          "HQ511",
          "TensorStrategy",
          kTensorrtLlm,
          sound_ct_channel,
          [](Json& j) {
            // An additional group that no module falls under.
            Json group = j["config_groups"]["group_0"];
            group["targets"] = {"lm_head"};
            group["weights"]["strategy"] = "tensor";
            j["config_groups"]["group_0"]["targets"] = {"re:.*self_attn.*", "re:.*mlp.*"};
            j["config_groups"]["group_1"] = group;
          }
      ),
      fault(
          "HQ512",
          "WeightsOnlyGroup",
          kTensorrtLlm,
          sound_ct_nvfp4,
          [](StoredCheckpoint& c) {
            edit_section(c, [](Json& j) {
              j["config_groups"]["group_0"]["input_activations"] = nullptr;
            });
            std::erase_if(c.tensors, [](const auto& tensor) {
              return tensor.first.ends_with("input_global_scale");
            });
          }
      ),
      section(
          "HQ513",
          "ClassNameBesideOthers",
          kTensorrtLlm,
          sound_ct_mixed,
          [](Json& j) { j["config_groups"]["group_1"]["targets"] = {"Linear"}; }
      ),
      section(
          "HQ514",
          "GroupForNothing",
          kTensorrtLlm,
          sound_ct_channel,
          [](Json& j) {
            Json group = j["config_groups"]["group_0"];
            group["targets"] = {"re:.*conv.*"};
            j["config_groups"]["group_0"]["targets"] = {"re:.*self_attn.*", "re:.*mlp.*"};
            j["config_groups"]["group_1"] = group;
          }
      ),
      fault("HQ515", "CompressedNvfp4", kTensorrtLlm, sound_ct_nvfp4),
      section(
          "HQ516",
          "BothMxFormats",
          kVllm,
          sound_ct_channel,
          [](Json& j) {
            Json group = j["config_groups"]["group_0"];
            group["input_activations"] = nullptr;
            group["format"] = "mxfp4-pack-quantized";
            group["targets"] = {"lm_head"};
            group["weights"] = {
                {"num_bits", 4}, {"type", "float"}, {"strategy", "group"}, {"group_size", 32}};
            j["config_groups"]["group_1"] = group;
            group["format"] = "mxfp8-quantized";
            group["weights"]["num_bits"] = 8;
            j["config_groups"]["group_2"] = group;
          }
      ),
      fault(
          "HQ521",
          "OtherBlocks",
          kTensorrtLlm,
          sound_fp8,
          [](StoredCheckpoint& c) {
            edit_section(c, [](Json& j) { j["weight_block_size"] = {64, 64}; });
            for (auto& [name, tensor] : c.tensors) {
              if (!name.ends_with(".weight_scale_inv")) continue;
              tensor =
                  f32({tensor.shape[0] * 2, tensor.shape[1] * 2},
                      std::vector<float>(
                          static_cast<size_t>(tensor.shape[0] * tensor.shape[1] * 4), 0.1F
                      ));
            }
          }
      ),
      fault(
          "HQ522",
          "StaticUnderFp8",
          kTensorrtLlm,
          sound_modelopt_fp8,
          [](StoredCheckpoint& c) {
            c.files.erase("hf_quant_config.json");
            edit_section(c, [](Json& j) {
              j = {
                  {"quant_method", "fp8"},
                  {"fmt", "e4m3"},
                  {"activation_scheme", "static"},
                  {"ignored_layers", {"lm_head"}}};
            });
          }
      ),
      section("HQ523", "NoFormat", kSglang, sound_fp8, [](Json& j) { j.erase("fmt"); }),
      fault(
          "HQ524",
          "RaggedScaleTiles",
          kSglang,
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            const std::string o = kLayer0 + "self_attn.o_proj";
            c.tensors[o + ".weight"] = {"U8", {520, 64}, std::string(520 * 64, '\x22')};
            c.tensors[o + ".weight_scale"] = {"F8_E4M3", {520, 8}, std::string(520 * 8, '\x38')};
          }
      ),
      fault(
          "HQ525",
          "RaggedGridBlocks",
          kVllm,
          sound_modelopt_fp8,
          [](StoredCheckpoint& c) {
            edit_section(c, [](Json& j) { j["quant_algo"] = "FP8_PB_WO"; });
            edit_quant_file(c, [](Json& j) { j["quant_algo"] = "FP8_PB_WO"; });
            c.tensors[kLayer0 + "self_attn.o_proj.weight"] = {
                "F8_E4M3", {200, 256}, std::string(200 * 256, '\x38')};
            for (auto& [name, tensor] : c.tensors) {
              if (!name.ends_with(".weight_scale")) continue;
              const std::string weight = name.substr(0, name.size() - 6);
              const std::vector<int64_t>& shape = c.tensors.at(weight).shape;
              const int64_t rows = (shape[0] + 127) / 128;
              const int64_t cols = (shape[1] + 127) / 128;
              tensor = f32({rows, 1, cols, 1}, std::vector<float>(rows * cols, 0.1F));
            }
          }
      ),
      fault(
          "HQ531",
          "QuantizedVision",
          kVllm,
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            // LlamaForCausalLM knows no vision part.
            edit_config(c, [](Json& j) { j["architectures"] = {"LlavaForConditionalGeneration"}; });
            for (const char* part : {".weight", ".weight_scale", ".weight_scale_2", ".input_scale"})
              c.tensors[std::string("vision_tower.fc") + part] =
                  c.tensors.at(kLayer0 + "self_attn.o_proj" + part);
          }
      ),
      fault(
          "HQ532",
          "BlockFp8OfMla",
          kTensorrtLlm,
          sound_fp8,
          [](StoredCheckpoint& c) {
            edit_config(c, [](Json& j) { j["architectures"] = {"DeepseekV3ForCausalLM"}; });
            rename(c, kLayer0 + "self_attn.o_proj.weight", kLayer0 + "self_attn.kv_b_proj.weight");
            rename(
                c,
                kLayer0 + "self_attn.o_proj.weight_scale_inv",
                kLayer0 + "self_attn.kv_b_proj.weight_scale_inv"
            );
          }
      ),
      fault(
          "HQ533",
          "FusedOnDisk",
          kVllm,
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            edit_config(c, [](Json& j) { j["architectures"] = {"Phi3ForCausalLM"}; });
            for (const char* part : {".weight", ".weight_scale", ".weight_scale_2", ".input_scale"})
              rename(c, kLayer0 + "self_attn.q_proj" + part, kLayer0 + "self_attn.qkv_proj" + part);
          }
      ),
      section(
          "HQ534",
          "KvSchemeIsAWord",
          kVllm,
          sound_nvfp4,
          [](Json& j) { j["kv_cache_scheme"] = "FP8"; }
      ),
      section(
          "HQ535",
          "KvSchemeOfFourBits",
          kTensorrtLlm,
          sound_ct_channel,
          [](Json& j) {
            j["kv_cache_scheme"] = {{"num_bits", 4}, {"type", "float"}};
          }
      ),
      fault(
          "HQ536",
          "ValuesFromKeys",
          kTensorrtLlm,
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            edit_config(c, [](Json& j) { j["attention_k_eq_v"] = true; });
            remove_all(c, kLayer0 + "self_attn.v_proj.");
          }
      ),
  };
}

namespace {

class EngineFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(EngineFaults, AreFound) {
  expect_found(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, EngineFaults, testing::ValuesIn(engine_faults()), fault_name);

// What concerns one engine is silent for the others.
TEST(EngineChecks, RunForTheirEngineOnly) {
  EXPECT_TRUE(report_of(sound_mixed(), {.engines = kSglang}).has_faults());
  EXPECT_FALSE(report_of(sound_mixed(), {.engines = kVllm}).has_faults());
  EXPECT_FALSE(report_of(sound_mixed(), {.engines = kNoEngine}).has_faults());
}

}  // namespace
}  // namespace hone
