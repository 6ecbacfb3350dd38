#include <gtest/gtest.h>

#include "tests/quant/check/planted_fault.h"

namespace hone {

std::vector<PlantedFault> part_faults() {
  const auto fault = [](const char* id,
                        const char* name,
                        const StoredCheckpoint& (*base)(),
                        std::function<void(StoredCheckpoint&)> plant,
                        Engines engines = kVllm) {
    return PlantedFault{
        .id = id,
        .name = name,
        .base = base,
        .plant = std::move(plant),
        .options = {.engines = engines}};
  };
  const std::string o = kLayer0 + "self_attn.o_proj";
  const std::string down = kLayer1 + "mlp.down_proj";
  return {
      fault(
          "HQ301",
          "NoBlockScales",
          sound_fp8,
          [=](StoredCheckpoint& c) { c.tensors.erase(o + ".weight_scale_inv"); }
      ),
      fault(
          "HQ301",
          "NoNvfp4Scales",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.tensors.erase(o + ".weight_scale"); }
      ),
      fault(
          "HQ302",
          "InputScaleOfTheHead",
          sound_nvfp4,
          [](StoredCheckpoint& c) { c.tensors["lm_head.input_scale"] = f32({}, {0.5F}); }
      ),
      fault(
          "HQ302",
          "ScaleOfNothing",
          sound_fp8,
          [](StoredCheckpoint& c) {
            c.tensors["model.layers.0.gone.weight_scale_inv"] = f32({1, 1}, {0.5F});
          }
      ),
      fault(
          "HQ303",
          "NoGlobalScale",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.tensors.erase(o + ".weight_scale_2"); }
      ),
      fault(
          "HQ303",
          "NoGlobalDivisor",
          sound_ct_nvfp4,
          [=](StoredCheckpoint& c) { c.tensors.erase(o + ".weight_global_scale"); }
      ),
      fault(
          "HQ304",
          "ExpertWithoutInputScale",
          sound_experts,
          [](StoredCheckpoint& c) {
            c.tensors.erase(kLayer1 + "mlp.experts.2.down_proj.input_scale");
          }
      ),
      fault(
          "HQ304",
          "NoStaticScale",
          sound_modelopt_fp8,
          [=](StoredCheckpoint& c) { c.tensors.erase(o + ".input_scale"); }
      ),
      fault(
          "HQ305",
          "Bf16BesideScales",
          sound_fp8,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight"] = bf16_ones(256, 256); }
      ),
      fault(
          "HQ305",
          "OtherFp8",
          sound_fp8,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight"].type = "F8_E5M2"; }
      ),
      fault(
          "HQ306",
          "BlockScalesAreIntegers",
          sound_fp8,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight_scale_inv"].type = "I32"; }
      ),
      fault(
          "HQ306",
          "Nvfp4ScalesAreBytes",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight_scale"].type = "U8"; }
      ),
      fault(
          "HQ307",
          "HalfTheScales",
          sound_nvfp4,
          [=](StoredCheckpoint& c) {
            StoredBytes& scale = c.tensors[down + ".weight_scale"];
            scale.shape[1] /= 2;
            scale.bytes.resize(scale.bytes.size() / 2);
          }
      ),
      fault(
          "HQ307",
          "OneScaleInsteadOfBlocks",
          sound_fp8,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight_scale_inv"] = f32({1}, {0.5F}); }
      ),
      fault(
          "HQ308",
          "TwoGlobalScales",
          sound_nvfp4,
          [=](StoredCheckpoint& c) {
            c.tensors[o + ".weight_scale_2"] = f32({2}, {0.001F, 0.001F});
          }
      ),
      fault(
          "HQ309",
          "FourtyInputs",
          sound_nvfp4,
          [=](StoredCheckpoint& c) {
            c.tensors[down + ".weight"] = {"U8", {256, 20}, std::string(256 * 20, '\x11')};
            c.tensors[down + ".weight_scale"] = {"F8_E4M3", {256, 3}, std::string(256 * 3, '\x38')};
          }
      ),
      fault(
          "HQ310",
          "CodesOfThreeDimensions",
          sound_fp8,
          [=](StoredCheckpoint& c) {
            c.tensors[o + ".weight"].shape = {2, 128, 256};
          }
      ),
      fault(
          "HQ311",
          "ZeroPoint",
          sound_fp8,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight_zero_point"] = f32({1}, {0.0F}); }
      ),
      fault(
          "HQ311",
          "ScaleOfAnotherDialect",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight_global_scale"] = f32({1}, {448.0F}); }
      ),
      fault(
          "HQ312",
          "DoubleScale",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.tensors[o + "._double_scale"] = f32({1}, {1.0F}); }
      ),
      fault(
          "HQ312",
          "AmaxOfAQuantizer",
          sound_fp8,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight_quantizer._amax"] = f32({1}, {1.0F}); }
      ),
      fault(
          "HQ313",
          "QuantizedEmbedding",
          sound_fp8,
          [](StoredCheckpoint& c) {
            c.tensors["model.embed_tokens.weight"] = {
                "F8_E4M3", {64, 256}, std::string(64 * 256, '\x38')};
          }
      ),
  };
}

namespace {

class PartFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(PartFaults, AreFound) {
  expect_found(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, PartFaults, testing::ValuesIn(part_faults()), fault_name);

// Experts of GPT-OSS: names, three dimensions and exponents of their own.
TEST(PartChecks, BlocksAndExponents) {
  const std::string experts = kLayer0 + "mlp.experts.gate_up_proj";
  StoredCheckpoint checkpoint;
  checkpoint.set_json(
      "config.json",
      {{"architectures", {"GptOssForCausalLM"}},
       {"tie_word_embeddings", true},
       {"quantization_config",
        {{"quant_method", "mxfp4"}, {"modules_to_not_convert", {"model.layers.*.self_attn"}}}}}
  );
  checkpoint.tensors[kLayer0 + "self_attn.q_proj.weight"] = bf16_ones(64, 64);
  checkpoint.tensors[experts + "_blocks"] = {"U8", {2, 4, 2, 16}, std::string(256, '\x22')};
  checkpoint.tensors[experts + "_scales"] = {"U8", {2, 4, 2}, std::string(16, '\x7F')};
  const CheckOptions options{.engines = kNoEngine, .deep = true};
  EXPECT_EQ(report_of(checkpoint, options).faults(), 0);
  const auto only_fault = [&] {
    const CheckReport report = report_of(checkpoint, options);
    return report.faults() == 1 ? std::string(report.results[0].id) : check_text(report);
  };
  checkpoint.tensors[experts + "_scales"].shape = {2, 8};
  EXPECT_EQ(only_fault(), "HQ307");
  checkpoint.tensors.erase(experts + "_scales");
  EXPECT_EQ(only_fault(), "HQ301");
}

}  // namespace
}  // namespace hone
