#include <gtest/gtest.h>

#include "tests/quant/check/planted_fault.h"

namespace hone {

std::vector<PlantedFault> layer_faults() {
  const auto fault = [](const char* id,
                        const char* name,
                        const StoredCheckpoint& (*base)(),
                        std::function<void(StoredCheckpoint&)> plant) {
    return PlantedFault{
        .id = id,
        .name = name,
        .base = base,
        .plant = std::move(plant),
        .options = {.engines = kVllm}};
  };
  const std::string expert = kLayer1 + "mlp.experts.1.";
  return {
      fault(
          "HQ331",
          "KeysAreNotQuantized",
          sound_fp8,
          [](StoredCheckpoint& c) {
            make_dense(c, kLayer0 + "self_attn.k_proj");
            exclude(c, kLayer0 + "self_attn.k_proj");
          }
      ),
      fault(
          "HQ332",
          "GateOfAnotherModel",
          sound_dense,
          [](StoredCheckpoint& c) {
            c.tensors[kLayer0 + "mlp.gate_proj.weight"] = bf16_ones(384, 128);
          }
      ),
      fault(
          "HQ333",
          "ExpertWithoutDown",
          sound_experts,
          [=](StoredCheckpoint& c) { remove_all(c, expert + "down_proj."); }
      ),
      fault(
          "HQ333",
          "FewerExperts",
          sound_experts,
          [](StoredCheckpoint& c) { edit_config(c, [](Json& j) { j["num_experts"] = 4; }); }
      ),
      fault(
          "HQ334",
          "OneDenseExpert",
          sound_experts,
          [=](StoredCheckpoint& c) {
            make_dense(c, expert + "down_proj");
            exclude(c, expert + "down_proj");
          }
      ),
      fault(
          "HQ335",
          "KeysOnly",
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            c.tensors[kLayer0 + "self_attn.k_proj.k_scale"] = f32({}, {0.1F});
            edit_quant_file(c, [](Json& j) { j["kv_cache_quant_algo"] = "FP8"; });
          }
      ),
      fault(
          "HQ336",
          "ScalesThatNoConfigSpeaksOf",
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            c.tensors[kLayer0 + "self_attn.k_proj.k_scale"] = f32({}, {0.1F});
            c.tensors[kLayer0 + "self_attn.v_proj.v_scale"] = f32({}, {0.1F});
          }
      ),
      fault(
          "HQ337",
          "DeclaredCacheWithoutScales",
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            edit_quant_file(c, [](Json& j) { j["kv_cache_quant_algo"] = "FP8"; });
          }
      ),
  };
}

namespace {

class LayerFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(LayerFaults, AreFound) {
  expect_found(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, LayerFaults, testing::ValuesIn(layer_faults()), fault_name);

}  // namespace
}  // namespace hone
