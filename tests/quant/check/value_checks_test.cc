#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "tests/quant/check/planted_fault.h"

namespace hone {

std::vector<PlantedFault> value_faults() {
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
  const auto scales = [&](const char* id,
                          const char* name,
                          const StoredCheckpoint& (*base)(),
                          std::function<void(StoredCheckpoint&)> plant) {
    PlantedFault planted = fault(id, name, base, std::move(plant));
    planted.options.scales = true;
    return planted;
  };
  const auto deep = [&](const char* id,
                        const char* name,
                        const StoredCheckpoint& (*base)(),
                        std::function<void(StoredCheckpoint&)> plant) {
    PlantedFault planted = fault(id, name, base, std::move(plant));
    planted.options.deep = true;
    return planted;
  };
  const std::string k = kLayer0 + "self_attn.k_proj";
  const std::string up = kLayer1 + "mlp.up_proj";
  const std::string o = kLayer0 + "self_attn.o_proj";
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  return {
      fault(
          "HQ401",
          "InfiniteGlobalScale",
          sound_ct_nvfp4,
          [=](StoredCheckpoint& c) { c.set_scalar(o + ".weight_global_scale", kInfinity); }
      ),
      fault(
          "HQ401",
          "NanInputScale",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.set_scalar(o + ".input_scale", std::nanf("")); }
      ),
      fault(
          "HQ402",
          "ZeroGlobalScale",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.set_scalar(o + ".weight_scale_2", 0.0F); }
      ),
      fault(
          "HQ402",
          "NegativeTensorScale",
          sound_modelopt_fp8,
          [=](StoredCheckpoint& c) { c.set_scalar(o + ".weight_scale", -0.01F); }
      ),
      fault(
          "HQ403",
          "OneBitOfAGlobalScale",
          sound_nvfp4,
          [=](StoredCheckpoint& c) {
            const float value = c.scalar(k + ".weight_scale_2");
            c.set_scalar(k + ".weight_scale_2", std::nextafter(value, 1.0F));
          }
      ),
      fault(
          "HQ403",
          "GateAndUpOfAnExpert",
          sound_experts,
          [](StoredCheckpoint& c) {
            const std::string expert_up = kLayer0 + "mlp.experts.1.up_proj.weight_scale_2";
            c.set_scalar(expert_up, c.scalar(expert_up) * 2);
          }
      ),
      fault(
          "HQ404",
          "InputScaleOfUp",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.set_scalar(up + ".input_scale", 0.25F); }
      ),
      fault(
          "HQ405",
          "TensorScalesDiffer",
          sound_modelopt_fp8,
          [=](StoredCheckpoint& c) { c.set_scalar(k + ".weight_scale", 0.02F); }
      ),
      fault(
          "HQ406",
          "MultiplierIsADivisor",
          sound_nvfp4,
          [=](StoredCheckpoint& c) {
            c.set_scalar(o + ".weight_scale_2", 1.0F / c.scalar(o + ".weight_scale_2"));
          }
      ),
      fault(
          "HQ407",
          "KvScaleOfMinusOne",
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            c.tensors[kLayer0 + "self_attn.k_proj.k_scale"] = f32({}, {-1.0F});
            c.tensors[kLayer0 + "self_attn.v_proj.v_scale"] = f32({}, {0.1F});
          }
      ),
      fault(
          "HQ408",
          "LargeKvScale",
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            c.tensors[kLayer0 + "self_attn.k_proj.k_scale"] = f32({}, {3.0F});
            c.tensors[kLayer0 + "self_attn.v_proj.v_scale"] = f32({}, {0.1F});
          }
      ),
      scales(
          "HQ411",
          "NanByteInScales",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight_scale"].bytes[77] = '\x7F'; }
      ),
      scales(
          "HQ411",
          "InfiniteBlockScale",
          sound_fp8,
          [=](StoredCheckpoint& c) { c.set_scalar(o + ".weight_scale_inv", kInfinity); }
      ),
      scales(
          "HQ412",
          "NegativeScale",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight_scale"].bytes[77] = '\xB8'; }
      ),
      scales(
          "HQ413",
          "ZeroScale",
          sound_nvfp4,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight_scale"].bytes[77] = '\0'; }
      ),
      scales(
          "HQ414",
          "PromisedPowersOfTwo",
          sound_fp8,
          [](StoredCheckpoint& c) { edit_section(c, [](Json& j) { j["scale_fmt"] = "ue8m0"; }); }
      ),
      deep(
          "HQ421",
          "NanCode",
          sound_fp8,
          [=](StoredCheckpoint& c) { c.tensors[o + ".weight"].bytes[5000] = '\xFF'; }
      ),
      deep(
          "HQ421",
          "InfiniteNorm",
          sound_dense,
          [](StoredCheckpoint& c) {
            c.tensors["model.norm.weight"].bytes.replace(6, 2, "\x80\x7F");
          }
      ),
      deep(
          "HQ422",
          "ZeroMatrix",
          sound_nvfp4,
          [=](StoredCheckpoint& c) {
            // Minus zero is zero too.
            c.tensors[o + ".weight"].bytes.assign(256 * 128, '\x80');
          }
      ),
  };
}

namespace {

class ValueFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(ValueFaults, AreFound) {
  expect_found(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ValueFaults, testing::ValuesIn(value_faults()), fault_name);

TEST(ValueChecks, PositionsAreRowAndColumn) {
  StoredCheckpoint checkpoint = sound_nvfp4();
  // Sixteen scales a row.
  checkpoint.tensors[kLayer0 + "self_attn.o_proj.weight_scale"].bytes[77] = '\x7F';
  const CheckReport report = report_of(checkpoint, {.engines = kNoEngine, .scales = true});
  ASSERT_EQ(report.results.size(), 1U);
  EXPECT_EQ(report.results[0].findings[0].subject, kLayer0 + "self_attn.o_proj.weight_scale");
  EXPECT_EQ(report.results[0].findings[0].text, "element [4, 13] is NaN or infinite");
}

// What is not asked for is not read.
TEST(ValueChecks, ScalesAndCodesAreReadOnRequestOnly) {
  StoredCheckpoint checkpoint = sound_fp8();
  const std::string o = kLayer0 + "self_attn.o_proj";
  checkpoint.set_scalar(o + ".weight_scale_inv", std::nanf(""));
  checkpoint.tensors[o + ".weight"].bytes[0] = '\x7F';
  EXPECT_EQ(report_of(checkpoint, {}).faults(), 0);
  EXPECT_EQ(report_of(checkpoint, {.scales = true}).faults(), 1);
  EXPECT_EQ(report_of(checkpoint, {.deep = true}).faults(), 2);
}

}  // namespace
}  // namespace hone
