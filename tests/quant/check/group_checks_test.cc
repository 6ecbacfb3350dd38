#include <gtest/gtest.h>

#include "tests/quant/check/planted_fault.h"

namespace hone {

std::vector<PlantedFault> group_faults() {
  const auto section = [](const char* id,
                          const char* name,
                          const StoredCheckpoint& (*base)(),
                          std::function<void(Json&)> edit,
                          Engines engines = kVllm) {
    return PlantedFault{
        .id = id,
        .name = name,
        .base = base,
        .plant = [edit = std::move(edit)](StoredCheckpoint& c) { edit_section(c, edit); },
        .options = {.engines = engines}};
  };
  return {
      section("HQ241", "NoGroups", sound_ct_nvfp4, [](Json& j) { j.erase("config_groups"); }),
      section("HQ242", "UnknownFormat", sound_ct_nvfp4, [](Json& j) { j["format"] = "nvfp4"; }),
      section(
          "HQ242",
          "UnknownFormatOfAGroup",
          sound_ct_nvfp4,
          [](Json& j) { j["config_groups"]["group_0"]["format"] = "nvfp4"; }
      ),
      section(
          "HQ243",
          "UnknownArgument",
          sound_ct_channel,
          [](Json& j) { j["config_groups"]["group_0"]["weights"]["scale_format"] = "f32"; }
      ),
      section(
          "HQ244",
          "LocalWithoutGroups",
          sound_ct_channel,
          [](Json& j) { j["config_groups"]["group_0"]["weights"]["dynamic"] = "local"; }
      ),
      section(
          "HQ245",
          "TwoGroupsClaimAModule",
          sound_ct_mixed,
          [](Json& j) {
            j["config_groups"]["group_1"]["targets"].push_back("re:.*layers\\.0\\.self_attn\\..*");
          }
      ),
      section(
          "HQ246",
          "TargetMatchesNothing",
          sound_ct_mixed,
          [](Json& j) { j["config_groups"]["group_1"]["targets"].push_back("re:mlp\\..*"); }
      ),
      section(
          "HQ247",
          "StatusIsFrozen",
          sound_ct_nvfp4,
          [](Json& j) { j["quantization_status"] = "frozen"; }
      ),
      section(
          "HQ248",
          "MixedWithoutFormats",
          sound_ct_mixed,
          [](Json& j) { j["config_groups"]["group_1"].erase("format"); }
      ),
  };
}

namespace {

class GroupFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(GroupFaults, AreFound) {
  expect_found(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, GroupFaults, testing::ValuesIn(group_faults()), fault_name);

}  // namespace
}  // namespace hone
