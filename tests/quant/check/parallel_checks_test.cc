#include <gtest/gtest.h>

#include "tests/quant/check/planted_fault.h"

namespace hone {

std::vector<PlantedFault> parallel_faults() {
  const auto fault = [](const char* id,
                        const char* name,
                        int64_t devices,
                        const StoredCheckpoint& (*base)(),
                        std::function<void(StoredCheckpoint&)> plant = nullptr,
                        Engines engines = kNoEngine) {
    return PlantedFault{
        .id = id,
        .name = name,
        .base = base,
        .plant = std::move(plant),
        .options = {.engines = engines, .tensor_parallel = devices}};
  };
  const auto shape = [](StoredCheckpoint& c, const std::string& module, int64_t rows, int64_t cols
                     ) {
    c.tensors[module + ".weight"] = {"F8_E4M3", {rows, cols}, std::string(rows * cols, '\x38')};
    const int64_t down = (rows + 127) / 128;
    const int64_t across = (cols + 127) / 128;
    c.tensors[module + ".weight_scale_inv"] =
        f32({down, across}, std::vector<float>(static_cast<size_t>(down * across), 0.1F));
  };
  return {
      fault("HQ601", "FourHeadsOnEightDevices", 8, sound_dense),
      fault(
          "HQ602",
          "ThreeKvHeadsOnFourDevices",
          4,
          sound_dense,
          [](StoredCheckpoint& c) { edit_config(c, [](Json& j) { j["num_key_value_heads"] = 3; }); }
      ),
      fault(
          "HQ603",
          "OddRows",
          2,
          sound_dense,
          [](StoredCheckpoint& c) {
            c.tensors[kLayer0 + "mlp.up_proj.weight"] = bf16_ones(383, 256);
          }
      ),
      fault(
          "HQ604",
          "OddColumns",
          2,
          sound_dense,
          [](StoredCheckpoint& c) {
            c.tensors[kLayer0 + "mlp.down_proj.weight"] = bf16_ones(256, 383);
          }
      ),
      fault(
          "HQ611",
          "RowsOfKeysAreCut",
          2,
          sound_fp8,
          [=](StoredCheckpoint& c) {
            for (const std::string& layer : {kLayer0, kLayer1}) {
              shape(c, layer + "mlp.gate_proj", 512, 256);
              shape(c, layer + "mlp.up_proj", 512, 256);
              shape(c, layer + "mlp.down_proj", 256, 512);
            }
          },
          kVllm
      ),
      fault(
          "HQ611",
          "PartBeginsInsideABlock",
          1,
          sound_fp8,
          [=](StoredCheckpoint& c) { shape(c, kLayer0 + "mlp.gate_proj", 320, 256); },
          kSglang
      ),
      fault(
          "HQ612",
          "LastPartIsRagged",
          1,
          sound_fp8,
          [=](StoredCheckpoint& c) { shape(c, kLayer0 + "mlp.up_proj", 320, 256); },
          kVllm
      ),
      fault(
          "HQ613",
          "ColumnsAreCut",
          2,
          sound_fp8,
          [=](StoredCheckpoint& c) {
            // Rows that two devices divide into whole blocks.
            for (const std::string& layer : {kLayer0, kLayer1}) {
              for (const char* name : {"q_proj", "k_proj", "v_proj"})
                shape(c, layer + "self_attn." + name, 256, 256);
              for (const char* name : {"gate_proj", "up_proj"})
                shape(c, layer + "mlp." + name, 512, 256);
            }
          },
          kVllm
      ),
      fault(
          "HQ614",
          "BlocksOfSixteenAreCut",
          2,
          sound_nvfp4,
          [](StoredCheckpoint& c) {
            const std::string down = kLayer0 + "mlp.down_proj";
            c.tensors[down + ".weight"] = {"U8", {256, 24}, std::string(256 * 24, '\x22')};
            c.tensors[down + ".weight_scale"] = {"F8_E4M3", {256, 3}, std::string(256 * 3, '\x38')};
          }
      ),
      fault(
          "HQ615",
          "RaggedColumns",
          1,
          sound_fp8,
          [=](StoredCheckpoint& c) { shape(c, kLayer0 + "mlp.down_proj", 256, 320); },
          kVllm
      ),
  };
}

namespace {

class ParallelFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(ParallelFaults, AreFound) {
  expect_found(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, ParallelFaults, testing::ValuesIn(parallel_faults()), fault_name);

// Two key heads on four devices: each head is copied to two of them, not cut.
TEST(ParallelChecks, KeyHeadsAreCopied) {
  EXPECT_FALSE(report_of(sound_dense(), {.engines = kNoEngine, .tensor_parallel = 4}).has_faults());
}

}  // namespace
}  // namespace hone
