#include "quant/inspect.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/io/checkpoint.h"
#include "quant/apply.h"
#include "quant/select/planner.h"
#include "quant/source.h"
#include "tests/fixture/random_checkpoint.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using testing_fixture::fresh_path;
using testing_fixture::random_checkpoint_tensors;
using testing_fixture::RandomCheckpoint;
using testing_fixture::write_random_checkpoint;

std::vector<std::string> faults(const Inspection& i) {
  std::vector<std::string> texts;
  for (const InspectProblem& p : i.problems) {
    if (p.fault) texts.push_back(p.text);
  }
  return texts;
}

std::vector<std::string> notes(const Inspection& i) {
  std::vector<std::string> texts;
  for (const InspectProblem& p : i.problems) {
    if (!p.fault) texts.push_back(p.text);
  }
  return texts;
}

fs::path sharded(const std::string& name) {
  const fs::path folder = fresh_path(name);
  RandomCheckpoint options;
  options.max_shard_bytes = 400'000;
  write_random_checkpoint(folder, options);
  return folder;
}

// Replaces text in the index.
void edit_index(const fs::path& folder, const std::string& from, const std::string& to) {
  const fs::path index = folder / "model.safetensors.index.json";
  std::string text = read_text_file(index);
  const size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos);
  text.replace(at, from.size(), to);
  write_text_file(index, text);
}

TEST(Inspect, TheIncludedModel) {
  const Inspection i = inspect_checkpoint(fs::path(HONE_SOURCE_DIR) / "recipes/demo", {true});
  EXPECT_EQ(i.architecture, "LlamaForCausalLM");
  EXPECT_TRUE(i.has_forward_pass);
  EXPECT_EQ(i.layers, 6);
  EXPECT_EQ(i.tensors, 56);
  EXPECT_TRUE(i.tied_head);
  EXPECT_EQ(i.dialect, "");
  EXPECT_TRUE(i.scanned);
  EXPECT_EQ(i.active_parameters, 0);  // dense: all of them
  EXPECT_EQ(i.dtypes, (std::map<std::string, int64_t>{{"BF16", i.bytes}}));
  EXPECT_THAT(faults(i), ::testing::IsEmpty());
  // 2048 x 256 of embeddings; 6 layers; norms of 256.
  const int64_t layer = 3 * 256 * 768 + 2 * 256 * 256 + 2 * 128 * 256 + 2 * 256;
  EXPECT_EQ(i.parameters, 2048 * 256 + 6 * layer + 256);
  EXPECT_EQ(i.bytes, 2 * i.parameters);
  int64_t of_roles = 0;
  for (const RoleSummary& role : i.roles) of_roles += role.parameters;
  EXPECT_EQ(of_roles, i.parameters);
  const std::string text = inspection_text(i);
  EXPECT_THAT(text, HasSubstr("LlamaForCausalLM (llama), 6 layers"));
  EXPECT_THAT(text, HasSubstr("mlp.down"));
  EXPECT_EQ(inspection_json(i)["parameters"], i.parameters);
}

TEST(Inspect, QuantizedFoldersCountParametersNotBytes) {
  const fs::path source = fresh_path("inspect-q-in");
  const fs::path output = fresh_path("inspect-q-out");
  write_random_checkpoint(source, {});
  const auto checkpoint = Checkpoint::open(source);
  PlanRequest request;
  request.architecture = "LlamaForCausalLM";
  request.scheme = find_scheme("nvfp4a16");
  request.tensors = list_source(*checkpoint, nullptr);
  const Plan plan = make_plan(request);
  apply_plan(*checkpoint, plan, output, {})->commit();
  const Inspection before = inspect_checkpoint(source, {});
  const Inspection after = inspect_checkpoint(output, {true});
  EXPECT_EQ(after.dialect, "modelopt");
  EXPECT_EQ(after.modules.at("nvfp4"), 14);
  EXPECT_EQ(after.parameters, before.parameters);
  EXPECT_EQ(after.bytes, plan_size(plan).output_bytes);
  EXPECT_THAT(faults(after), ::testing::IsEmpty());
}

TEST(Inspect, ActiveParametersOfExperts) {
  const fs::path folder = fresh_path("inspect-moe");
  RandomCheckpoint options;
  options.architecture = "Qwen3MoeForCausalLM";
  options.experts = 4;
  options.intermediate = 64;
  write_random_checkpoint(folder, options);
  Json config = read_json_file(folder / "config.json");
  config["num_experts"] = 4;
  config["num_experts_per_tok"] = 1;
  write_json_file(folder / "config.json", config);
  const Inspection i = inspect_checkpoint(folder, {});
  EXPECT_THAT(faults(i), ::testing::IsEmpty());
  // Three of four experts rest: gate, up and down of [64, 256] in two layers.
  EXPECT_EQ(i.parameters - i.active_parameters, 2 * 3 * 3 * 64 * 256);
  EXPECT_THAT(inspection_text(i), HasSubstr("parameters a token"));

  // A layer beyond the last predicts further tokens and is no part of the answer's path.
  config["num_hidden_layers"] = 1;
  config["num_nextn_predict_layers"] = 1;
  write_json_file(folder / "config.json", config);
  int64_t second_layer = 0;
  for (const auto& [name, shape] : random_checkpoint_tensors(options)) {
    const bool module = name.find("norm") == std::string::npos;
    if (name.starts_with("model.layers.1.") && module) second_layer += shape.numel();
  }
  EXPECT_EQ(
      inspect_checkpoint(folder, {}).active_parameters,
      i.parameters - second_layer - 3 * 3 * 64 * 256
  );
}

TEST(Inspect, SeveralProblemsAreFoundAtOnce) {
  const fs::path folder = sharded("inspect-many");
  edit_index(folder, "model.layers.0.mlp.up_proj.weight", "model.layers.0.mlp.wrong.weight");
  fs::remove(folder / "tokenizer.json");
  fs::path last;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".safetensors") last = std::max(last, entry.path());
  }
  fs::remove(last);
  const Inspection i = inspect_checkpoint(folder, {});
  EXPECT_THAT(
      faults(i),
      Contains(AllOf(
          HasSubstr("model.layers.0.mlp.wrong.weight: the index puts it into"),
          HasSubstr("which does not have it")
      ))
  );
  EXPECT_THAT(
      faults(i),
      Contains(AllOf(
          HasSubstr("model.layers.0.mlp.up_proj.weight: it is in"), HasSubstr("not in the index")
      ))
  );
  EXPECT_THAT(faults(i), Contains(HasSubstr(last.filename().string() + ": the index names it")));
  EXPECT_THAT(notes(i), Contains(HasSubstr("tokenizer.json: there is no tokenizer")));
  EXPECT_TRUE(i.has_faults());
}

TEST(Inspect, NamesThatLeaveTheFolder) {
  const fs::path folder = sharded("inspect-escape");
  edit_index(folder, "\"model-00001", "\"../model-00001");
  EXPECT_THAT(faults(inspect_checkpoint(folder, {})), Contains(HasSubstr("leaves the folder")));
}

TEST(Inspect, BrokenShardsAndConfigs) {
  const fs::path folder = fresh_path("inspect-broken");
  write_random_checkpoint(folder, {});
  write_text_file(folder / "config.json", "{");
  const std::string weights = read_text_file(folder / "model.safetensors");
  write_text_file(folder / "model.safetensors", weights.substr(0, weights.size() - 10));
  const Inspection i = inspect_checkpoint(folder, {});
  EXPECT_THAT(faults(i), Contains(HasSubstr("config.json")));
  EXPECT_THAT(faults(i), Contains(HasSubstr("model.safetensors")));
}

TEST(Inspect, ScanFindsNan) {
  const fs::path folder = fresh_path("inspect-nan");
  write_random_checkpoint(folder, {});
  testing_fixture::poke_bf16(folder, "model.layers.1.mlp.down_proj.weight", 3, 0x7FC0);
  EXPECT_FALSE(inspect_checkpoint(folder, {}).has_faults());
  const Inspection i = inspect_checkpoint(folder, {true});
  EXPECT_THAT(
      faults(i),
      Contains(HasSubstr("model.layers.1.mlp.down_proj.weight: element [0, 3] is NaN or infinite"))
  );
}

TEST(Inspect, MissingLayersAndStaleSizes) {
  const fs::path folder = sharded("inspect-layers");
  Json config = read_json_file(folder / "config.json");
  config["num_hidden_layers"] = 3;
  write_json_file(folder / "config.json", config);
  edit_index(folder, "\"total_size\": ", "\"total_size\": 1");
  const Inspection i = inspect_checkpoint(folder, {});
  EXPECT_THAT(
      faults(i),
      Contains(HasSubstr("layer 2: config.json speaks of 3 layers, this one has no weights"))
  );
  EXPECT_THAT(notes(i), Contains(HasSubstr("metadata.total_size is 1")));
}

TEST(Inspect, HeadsThatConfigAndTensorsDisagreeOn) {
  const fs::path folder = fresh_path("inspect-head");
  RandomCheckpoint options;
  options.tied = true;
  write_random_checkpoint(folder, options);
  Json config = read_json_file(folder / "config.json");
  config["tie_word_embeddings"] = false;
  write_json_file(folder / "config.json", config);
  EXPECT_THAT(
      faults(inspect_checkpoint(folder, {})),
      Contains(HasSubstr("tie_word_embeddings is false, but there is no such tensor"))
  );
}

TEST(Inspect, UnknownArchitecturesAndQuantizations) {
  const fs::path folder = fresh_path("inspect-unknown");
  RandomCheckpoint options;
  options.architecture = "MambaForCausalLM";
  write_random_checkpoint(folder, options);
  Json config = read_json_file(folder / "config.json");
  config["quantization_config"] = {{"quant_method", "awq"}};
  write_json_file(folder / "config.json", config);
  const Inspection i = inspect_checkpoint(folder, {});
  EXPECT_FALSE(i.has_forward_pass);
  EXPECT_THAT(notes(i), Contains(HasSubstr("no forward pass for MambaForCausalLM")));
  EXPECT_THAT(faults(i), Contains(HasSubstr("awq")));
}

TEST(Inspect, AFolderWithoutWeightsAndNoFolder) {
  const fs::path folder = fresh_path("inspect-empty");
  fs::create_directories(folder);
  const Inspection i = inspect_checkpoint(folder, {});
  EXPECT_THAT(
      faults(i), Contains(HasSubstr("model.safetensors: there is neither this file nor an index"))
  );
  EXPECT_THROW(inspect_checkpoint(folder / "missing", {}), UsageError);
}

}  // namespace
}  // namespace hone
