#include <gtest/gtest.h>

#include "tests/quant/check/planted_fault.h"

namespace hone {

std::vector<PlantedFault> config_faults() {
  const auto fault = [](const char* id,
                        const char* name,
                        const StoredCheckpoint& (*base)(),
                        std::function<void(StoredCheckpoint&)> plant) {
    return PlantedFault{.id = id, .name = name, .base = base, .plant = std::move(plant)};
  };
  const auto config = [&](const char* id,
                          const char* name,
                          const StoredCheckpoint& (*base)(),
                          std::function<void(Json&)> edit) {
    return fault(id, name, base, [edit = std::move(edit)](StoredCheckpoint& c) {
      edit_config(c, edit);
    });
  };
  const auto section = [&](const char* id,
                           const char* name,
                           const StoredCheckpoint& (*base)(),
                           std::function<void(Json&)> edit) {
    return fault(id, name, base, [edit = std::move(edit)](StoredCheckpoint& c) {
      edit_section(c, edit);
    });
  };
  // The version of SGLang that was read refuses mixed checkpoints as such.
  const auto vllm = [](PlantedFault planted) {
    planted.options.engines = kVllm;
    return planted;
  };
  return {
      config(
          "HQ201", "TieIsAString", sound_dense, [](Json& j) { j["tie_word_embeddings"] = "no"; }
      ),
      config("HQ202", "NoArchitecture", sound_dense, [](Json& j) { j.erase("architectures"); }),
      config(
          "HQ203", "MoreLayersThanWeights", sound_dense, [](Json& j) { j["num_hidden_layers"] = 4; }
      ),
      config(
          "HQ204",
          "FewerLayersThanWeights",
          sound_dense,
          [](Json& j) { j["num_hidden_layers"] = 1; }
      ),
      fault(
          "HQ205",
          "NoHead",
          sound_dense,
          [](StoredCheckpoint& c) { c.tensors.erase("lm_head.weight"); }
      ),
      config(
          "HQ206", "TiedAndStored", sound_dense, [](Json& j) { j["tie_word_embeddings"] = true; }
      ),
      config(
          "HQ207", "QuantizedAndSilent", sound_fp8, [](Json& j) { j.erase("quantization_config"); }
      ),
      config(
          "HQ208",
          "StaleDeclaration",
          sound_dense,
          [](Json& j) {
            j["quantization_config"] = sound_fp8().json("config.json")["quantization_config"];
          }
      ),
      fault(
          "HQ209",
          "DeclaredFp8IsNvfp4",
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            edit_section(c, [](Json& j) { j["quant_algo"] = "FP8"; });
            edit_quant_file(c, [](Json& j) { j["quant_algo"] = "FP8"; });
          }
      ),
      fault(
          "HQ210",
          "ExcludedGroupIsQuantized",
          sound_nvfp4,
          [](StoredCheckpoint& c) { exclude(c, kLayer0 + "mlp.down_proj"); }
      ),
      fault(
          "HQ211",
          "DenseModuleIsNotExcluded",
          sound_fp8,
          [](StoredCheckpoint& c) { make_dense(c, kLayer0 + "mlp.down_proj"); }
      ),
      fault(
          "HQ211",
          "SuffixOfAnotherClass",
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            make_dense(c, kLayer0 + "self_attn.o_proj");
            exclude(c, kLayer0 + "self_attn.o_proj.linear");
          }
      ),
      fault(
          "HQ212",
          "HalfAnMtpLayer",
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            edit_config(c, [](Json& j) {
              j["num_hidden_layers"] = 1;
              j["num_nextn_predict_layers"] = 1;
            });
            make_dense(c, kLayer1 + "mlp.down_proj");
          }
      ),
      fault(
          "HQ213",
          "RouterIsNotExcluded",
          sound_experts,
          [](StoredCheckpoint& c) {
            edit_section(c, [](Json& j) { j["ignore"] = {"lm_head"}; });
            edit_quant_file(c, [](Json& j) { j["exclude_modules"] = {"lm_head"}; });
          }
      ),
      fault(
          "HQ214",
          "ExcludedNameDoesNotExist",
          sound_nvfp4,
          [](StoredCheckpoint& c) { exclude(c, "transformer.h.0.attn"); }
      ),
      section(
          "HQ215", "BlockSizeIsANumber", sound_fp8, [](Json& j) { j["weight_block_size"] = 128; }
      ),
      section(
          "HQ215",
          "BrokenExpression",
          sound_ct_channel,
          [](Json& j) { j["ignore"].push_back("re:(unclosed"); }
      ),
      fault(
          "HQ216",
          "FilesDisagree",
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            edit_quant_file(c, [](Json& j) { j["quant_algo"] = "W4A16_NVFP4"; });
          }
      ),
      fault(
          "HQ217",
          "ExcludeListsDiffer",
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            edit_quant_file(c, [](Json& j) {
              j["exclude_modules"].push_back("model.embed_tokens");
            });
          }
      ),
      section(
          "HQ217",
          "IgnoredLayersDiffer",
          sound_fp8,
          [](Json& j) { j["ignored_layers"].push_back("model.embed_tokens"); }
      ),
      fault(
          "HQ218",
          "NoMethod",
          sound_dense,
          [](StoredCheckpoint& c) { edit_section(c, [](Json& j) {
                                      j = {{"bits", 4}};
                                    }); }
      ),
      fault(
          "HQ219",
          "MethodOfOthers",
          sound_dense,
          [](StoredCheckpoint& c) {
            edit_section(c, [](Json& j) { j = {{"quant_method", "awq"}}; });
          }
      ),
      section(
          "HQ220", "NoActivationScheme", sound_fp8, [](Json& j) { j.erase("activation_scheme"); }
      ),
      fault(
          "HQ221",
          "GroupOf32",
          sound_nvfp4,
          [](StoredCheckpoint& c) { edit_quant_file(c, [](Json& j) { j["group_size"] = 32; }); }
      ),
      vllm(fault(
          "HQ222",
          "MixedPrecisionWithoutLayers",
          sound_mixed,
          [](StoredCheckpoint& c) {
            edit_section(c, [](Json& j) { j.erase("quantized_layers"); });
            edit_quant_file(c, [](Json& j) { j.erase("quantized_layers"); });
          }
      )),
      vllm(fault(
          "HQ223",
          "LayersUnderAnotherPrefix",
          sound_mixed,
          [](StoredCheckpoint& c) {
            edit_section(c, [](Json& j) {
              j["quantized_layers"]["language_model.model.layers.0.mlp.up_proj"] = {
                  {"quant_algo", "NVFP4"}};
            });
          }
      )),
  };
}

namespace {

class ConfigFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(ConfigFaults, AreFound) {
  expect_found(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ConfigFaults, testing::ValuesIn(config_faults()), fault_name);

TEST(ConfigChecks, TextConfigCounts) {
  StoredCheckpoint checkpoint = sound_fp8();
  edit_config(checkpoint, [](Json& config) {
    config["text_config"]["quantization_config"] = config["quantization_config"];
    config.erase("quantization_config");
  });
  EXPECT_FALSE(report_of(checkpoint, {}).has_faults());
}

}  // namespace
}  // namespace hone
