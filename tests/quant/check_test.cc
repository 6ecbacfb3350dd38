#include "quant/check.h"

#include <fstream>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "tests/fixture/random_checkpoint.h"
#include "tests/quant/check/planted_fault.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> ids(const CheckReport& report) {
  std::vector<std::string> found;
  for (const CheckResult& result : report.results) found.emplace_back(result.id);
  return found;
}

CheckOptions everything() {
  return {.engines = kAllEngines, .deep = true};
}

TEST(Check, WhatWeWritePassesEverywhere) {
  EXPECT_THAT(ids(report_of(sound_dense(), everything())), IsEmpty());
  EXPECT_THAT(ids(report_of(sound_two_shards(), everything())), IsEmpty());
  EXPECT_THAT(ids(report_of(sound_fp8(), everything())), IsEmpty());
  EXPECT_THAT(ids(report_of(sound_nvfp4(), everything())), IsEmpty());
  EXPECT_THAT(ids(report_of(sound_experts(), everything())), IsEmpty());
  EXPECT_THAT(ids(report_of(sound_modelopt_fp8(), everything())), IsEmpty());
  EXPECT_THAT(ids(report_of(sound_ct_channel(), everything())), IsEmpty());
  // Known limits of single engines.
  EXPECT_THAT(ids(report_of(sound_nvfp4a16(), everything())), testing::ElementsAre("HQ506"));
  EXPECT_THAT(ids(report_of(sound_ct_nvfp4(), everything())), testing::ElementsAre("HQ515"));
}

TEST(Check, TheIncludedModelPasses) {
  const CheckReport report =
      check_checkpoint(fs::path(HONE_SOURCE_DIR) / "recipes/demo", everything());
  EXPECT_EQ(report.faults(), 0) << check_text(report);
  EXPECT_EQ(report.tensors, 56);
}

TEST(Check, EveryCheckHasAPlantedFault) {
  std::set<std::string> planted;
  size_t count = 0;
  const std::vector<PlantedFault> lists[] = {
      file_faults(),
      config_faults(),
      group_faults(),
      part_faults(),
      layer_faults(),
      value_faults(),
      engine_faults(),
      parallel_faults()};
  for (const std::vector<PlantedFault>& list : lists) {
    for (const PlantedFault& fault : list) planted.insert(fault.id);
    count += list.size();
  }
  EXPECT_GE(count, 40U);
  std::set<std::string_view> known;
  for (const CheckDescription& check : check_descriptions()) {
    EXPECT_TRUE(known.insert(check.id).second) << check.id << " is there twice";
    EXPECT_TRUE(planted.contains(std::string(check.id))) << check.id << " has no planted fault";
    EXPECT_FALSE(check.title.ends_with(".")) << check.id;
    EXPECT_FALSE(check.fix.empty()) << check.id;
  }
}

TEST(Check, TheDocumentListsEveryCheck) {
  const std::string document = read_text_file(fs::path(HONE_SOURCE_DIR) / "docs/check.md");
  for (const CheckDescription& check : check_descriptions()) {
    EXPECT_THAT(
        document,
        HasSubstr(fmt::format(
            "| {} | {} | {} | {}",
            check.id,
            check.level == CheckLevel::kFault ? "fault" : "warning",
            check.engines == kNoEngine ? "all" : engines_text(check.engines),
            check.title
        ))
    );
  }
}

TEST(Check, SeveralFaultsAreFoundAtOnce) {
  StoredCheckpoint checkpoint = sound_nvfp4();
  const std::string o = kLayer0 + "self_attn.o_proj";
  checkpoint.tensors.erase(o + ".weight_scale");
  checkpoint.set_scalar(kLayer0 + "mlp.down_proj.weight_scale_2", -1.0F);
  checkpoint.files.erase("tokenizer.json");
  edit_quant_file(checkpoint, [](Json& j) { j["exclude_modules"] = Json::array(); });
  const CheckReport report = report_of(checkpoint, {});
  // Faults first.
  EXPECT_THAT(ids(report), testing::ElementsAre("HQ301", "HQ402", "HQ501", "HQ117", "HQ217"));
  EXPECT_EQ(report.faults(), 3);
  EXPECT_EQ(report.warnings(), 2);
  const std::string text = check_text(report);
  EXPECT_THAT(text, HasSubstr("3 faults, 2 warnings"));
  EXPECT_THAT(text, HasSubstr("fault    HQ301  Codes without scales"));
  EXPECT_THAT(text, HasSubstr(o + ".weight_scale: it is missing beside the NVFP4 codes"));
  EXPECT_THAT(text, HasSubstr("fix: list at least lm_head in exclude_modules"));
  const Json json = check_json(report);
  EXPECT_EQ(json["faults"], 3);
  EXPECT_EQ(json["engines"], Json({"vllm", "sglang", "trtllm"}));
  EXPECT_EQ(json["results"][0]["id"], "HQ301");
  EXPECT_EQ(json["results"][0]["level"], "fault");
  EXPECT_EQ(json["results"][0]["findings"][0]["subject"], o + ".weight_scale");
}

TEST(Check, ManyFindingsAreCounted) {
  StoredCheckpoint checkpoint = sound_nvfp4();
  std::erase_if(checkpoint.tensors, [](const auto& tensor) {
    return tensor.first.ends_with("input_scale");
  });
  for (int i = 0; i < 30; ++i)
    checkpoint.tensors["extra." + std::to_string(i) + ".weight_scale"] = f32({}, {1.0F});
  const CheckReport report = report_of(checkpoint, {.engines = kVllm});
  ASSERT_THAT(ids(report), testing::ElementsAre("HQ302", "HQ304"));
  EXPECT_EQ(report.results[0].count, 30);
  EXPECT_EQ(report.results[0].findings.size(), 20U);
  EXPECT_EQ(report.results[1].count, 14);
  EXPECT_THAT(check_text(report), HasSubstr("and 27 more"));
}

TEST(Check, AnEmptyFolder) {
  const fs::path folder = testing_fixture::fresh_path("check-empty");
  fs::create_directories(folder);
  EXPECT_THAT(ids(check_checkpoint(folder, {})), testing::ElementsAre("HQ101", "HQ103"));
}

TEST(Check, WrongUse) {
  EXPECT_THROW(check_checkpoint("/no/such/folder", {}), UsageError);
  EXPECT_THROW(report_of(sound_dense(), {.tensor_parallel = 0}), UsageError);
  EXPECT_THROW(parse_engines("triton"), UsageError);
  EXPECT_EQ(parse_engines("tensorrt-llm"), kTensorrtLlm);
  EXPECT_EQ(parse_engines("all"), kAllEngines);
  EXPECT_EQ(engines_text(static_cast<Engines>(kVllm | kTensorrtLlm)), "vllm, trtllm");
}

// Every prefix of a shard and of its index, and bytes that were changed at random: never a crash.
TEST(Check, BrokenBytesNeverEndIt) {
  StoredCheckpoint small;
  small.tensors["model.layers.0.mlp.up_proj.weight"] = {"F8_E4M3", {2, 4}, std::string(8, '\x38')};
  small.tensors["model.layers.0.mlp.up_proj.weight_scale_inv"] = f32({1, 1}, {0.5F});
  small.files["config.json"] = sound_fp8().files.at("config.json");
  const fs::path folder = testing_fixture::fresh_path("check-bytes");
  small.write(folder);
  const std::string weights = read_text_file(folder / "model.safetensors");
  const std::string config = small.files.at("config.json");
  const auto put = [&](const char* name, const std::string& bytes) {
    std::ofstream file(folder / name, std::ios::binary);
    file << bytes;
  };
  for (size_t size = 0; size < weights.size(); size += 3) {
    put("model.safetensors", weights.substr(0, size));
    EXPECT_TRUE(check_checkpoint(folder, everything()).has_faults()) << size;
  }
  for (size_t at = 0; at < weights.size(); at += 5) {
    std::string changed = weights;
    changed[at] = static_cast<char>(changed[at] ^ 0x15);
    put("model.safetensors", changed);
    (void)check_checkpoint(folder, everything());
  }
  put("model.safetensors", weights);
  for (size_t size = 0; size < config.size(); size += 7) {
    put("config.json", config.substr(0, size));
    EXPECT_TRUE(check_checkpoint(folder, everything()).has_faults()) << size;
  }
  fs::remove_all(folder);
}

}  // namespace
}  // namespace hone
