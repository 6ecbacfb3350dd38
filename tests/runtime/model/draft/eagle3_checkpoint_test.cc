#include "runtime/model/draft/eagle3_checkpoint.h"

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/io/safetensors.h"
#include "tests/runtime/model/draft/small_head.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing_draft::small_head;
using Tensors = std::map<std::string, Tensor>;

std::filesystem::path fresh_folder(const std::string& name) {
  const auto path = std::filesystem::path(testing::TempDir()) / ("eagle3_checkpoint_" + name);
  std::filesystem::remove_all(path);
  std::filesystem::create_directories(path);
  return path;
}

// A written head whose files can be changed before it is read.
struct Written {
  std::filesystem::path folder;
  Json config;
  Tensors tensors;

  explicit Written(const std::string& name, const Eagle3Head& head = small_head())
      : folder(fresh_folder(name)) {
    write_eagle3(head, folder);
    config = read_json_file(folder / "config.json");
    const auto file = SafetensorsFile::open(folder / "model.safetensors");
    for (const std::string& tensor : file->names())
      tensors[tensor] = Tensor::copy_of(file->tensor(tensor));
  }
  Eagle3Head read() {
    write_json_file(folder / "config.json", config);
    write_safetensors(folder / "model.safetensors", tensors);
    return read_eagle3(folder, 6);
  }
  std::string refusal() {
    try {
      read();
    } catch (const DataError& error) {
      EXPECT_THAT(error.what(), HasSubstr(folder.string()));
      return error.what();
    }
    return "accepted";
  }
  void rename(const std::string& from, const std::string& to) {
    tensors[to] = tensors.at(from);
    tensors.erase(from);
  }
};

TEST(Eagle3Checkpoint, ComesBackBitForBit) {
  const Eagle3Head head = small_head();
  Written written("round_trip", head);
  const Eagle3Head read = written.read();
  const auto before = eagle3_members(head.weights);
  const auto after = eagle3_members(read.weights);
  for (size_t i = 0; i < before.size(); ++i) {
    ASSERT_EQ(after[i]->shape(), before[i]->shape());
    for (size_t k = 0; k < static_cast<size_t>(before[i]->numel()); ++k)
      ASSERT_EQ(after[i]->as<float>()[k], before[i]->as<float>()[k]);
  }
  EXPECT_EQ(read.draft_to_target, head.draft_to_target);
  EXPECT_EQ(read.config.taps, head.config.taps);
  EXPECT_EQ(read.config.kv_heads, 2);
  EXPECT_EQ(read.config.max_positions, 128);
  EXPECT_EQ(read.contract->to_json(), head.contract->to_json());
  EXPECT_FALSE(read.embeddings.has_value());
}

TEST(Eagle3Checkpoint, WritesTheNamesAndNumbersThatEnginesLoad) {
  const Written written("names");
  EXPECT_EQ(written.config["architectures"], Json::array({"LlamaForCausalLMEagle3"}));
  EXPECT_EQ(written.config["draft_vocab_size"], 20);
  EXPECT_EQ(written.config["vocab_size"], 50);
  EXPECT_EQ(written.config["num_hidden_layers"], 1);
  // The naming trap: SpecForge and SGLang count outputs, vLLM counts inputs.
  EXPECT_EQ(
      written.config["eagle_config"]["eagle_aux_hidden_state_layer_ids"], Json::array({0, 2, 4})
  );
  EXPECT_EQ(written.config["eagle_aux_hidden_state_layer_ids"], Json::array({1, 3, 5}));
  const Tensor& d2t = written.tensors.at("d2t");
  const Tensor& t2d = written.tensors.at("t2d");
  ASSERT_EQ(d2t.type(), DType::kI64);
  ASSERT_EQ(t2d.type(), DType::kBool);
  ASSERT_EQ(t2d.numel(), 50);
  for (size_t i = 0; i < 20; ++i) EXPECT_EQ(d2t.as<int64_t>()[i], static_cast<int64_t>(i));
  for (int64_t id = 0; id < 50; ++id)
    EXPECT_EQ(t2d.bytes()[id] == std::byte{1}, id % 2 == 0 && id < 40) << id;
  EXPECT_EQ(written.tensors.size(), kEagle3ParameterCount + 2);
}

TEST(Eagle3Checkpoint, EqualVocabulariesNeedNoMap) {
  Eagle3Head head = small_head();
  head.config.draft_vocab = 50;
  head.draft_to_target.clear();
  for (int32_t id = 0; id < 50; ++id) head.draft_to_target.push_back(id);
  head.weights.lm_head = testing_draft::random_tensor({50, 32}, 5, 0.2);
  head.contract->draft_vocab = 50;
  head.contract->vocabulary_map_hash = hash_vocabulary_map(head.draft_to_target);
  Written written("equal", head);
  EXPECT_FALSE(written.tensors.contains("d2t"));
  EXPECT_FALSE(written.tensors.contains("t2d"));
  EXPECT_EQ(written.read().draft_to_target, head.draft_to_target);
}

TEST(Eagle3Checkpoint, ReadsTheOtherLayerName) {
  Written written("layers0");
  for (const auto& [name, tensor] : Tensors(written.tensors))
    if (name.starts_with("midlayer.")) written.rename(name, "layers.0." + name.substr(9));
  EXPECT_EQ(written.read().weights.q.shape(), (Shape{32, 64}));
}

TEST(Eagle3Checkpoint, ConvertsToTheStoredDtype) {
  Eagle3Head head = small_head();
  head.config.dtype = DType::kBF16;
  Written written("bf16", head);
  const Eagle3Head read = written.read();
  EXPECT_EQ(read.weights.fc.type(), DType::kBF16);
  EXPECT_EQ(read.config.dtype, DType::kBF16);
}

TEST(Eagle3Checkpoint, HeadsMayBringTheirEmbedding) {
  Written written("embedding");
  written.tensors["embed_tokens.weight"] = testing_draft::random_tensor({50, 32}, 9, 1);
  EXPECT_TRUE(written.read().embeddings.has_value());
  written.tensors["embed_tokens.weight"] = testing_draft::random_tensor({49, 32}, 9, 1);
  EXPECT_THAT(written.refusal(), HasSubstr("embed_tokens.weight"));
}

TEST(Eagle3Checkpoint, EveryTensorIsNeeded) {
  for (const Eagle3Tensor& tensor : eagle3_tensors(small_head().config)) {
    Written written("missing");
    written.tensors.erase(tensor.name);
    EXPECT_THAT(written.refusal(), HasSubstr(tensor.name + " is missing"));
  }
  Written written("missing");
  written.tensors.erase("d2t");
  EXPECT_THAT(written.refusal(), HasSubstr("d2t is missing"));
}

TEST(Eagle3Checkpoint, NothingIsSkipped) {
  Written written("additional");
  written.tensors["fc_norm.0.weight"] = Tensor(DType::kF32, {32});
  EXPECT_THAT(written.refusal(), HasSubstr("fc_norm.0.weight"));
}

TEST(Eagle3Checkpoint, ShapesDtypesAndValuesAreChecked) {
  Written shape("shape");
  shape.tensors["fc.weight"] = Tensor(DType::kF32, {32, 64});
  EXPECT_THAT(shape.refusal(), HasSubstr("fc.weight is [32, 64], config.json implies [32, 96]"));
  Written type("type");
  type.tensors["fc.weight"] = Tensor(DType::kI64, {32, 96});
  EXPECT_THAT(type.refusal(), HasSubstr("I64"));
  Written nan("nan");
  nan.tensors["norm.weight"].as<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(nan.refusal(), HasSubstr("norm.weight holds nan at element 3"));
}

TEST(Eagle3Checkpoint, MapsMustBeOffsetsInAscendingOrder) {
  // Target ids instead of offsets: the mistake of other converters.
  Written absolute("absolute");
  for (size_t i = 0; i < 20; ++i)
    absolute.tensors["d2t"].as<int64_t>()[i] = 2 * static_cast<int64_t>(i) + 12;
  EXPECT_THAT(absolute.refusal(), HasSubstr("offsets"));
  Written huge("huge");
  huge.tensors["d2t"].as<int64_t>()[19] = std::numeric_limits<int64_t>::max();
  EXPECT_THAT(huge.refusal(), HasSubstr("d2t[19]"));
  Written double_id("double");
  double_id.tensors["d2t"].as<int64_t>()[1] = -1;
  EXPECT_THAT(double_id.refusal(), HasSubstr("ascending"));
  Written t2d("t2d");
  t2d.tensors["t2d"].bytes()[1] = std::byte{1};
  EXPECT_THAT(t2d.refusal(), HasSubstr("disagree about target id 1"));
  Written size("size");
  size.tensors["d2t"] = Tensor(DType::kI64, {19});
  EXPECT_THAT(size.refusal(), HasSubstr("d2t"));
}

TEST(Eagle3Checkpoint, ConfigsThatMeanOtherArithmeticAreRefused) {
  const std::pair<const char*, std::function<void(Json&)>> cases[] = {
      {"fc_norm", [](Json& c) { c["fc_norm"] = true; }},
      {"norm_output", [](Json& c) { c["eagle_config"]["norm_output"] = true; }},
      {"norm_before_fc", [](Json& c) { c["norm_before_fc"] = true; }},
      {"norm_before_residual", [](Json& c) { c["norm_before_residual"] = true; }},
      {"architectures", [](Json& c) { c["architectures"] = {"LlamaForCausalLMEagle"}; }},
      {"architectures", [](Json& c) { c.erase("architectures"); }},
      {"num_hidden_layers", [](Json& c) { c["num_hidden_layers"] = 2; }},
      {"layer inputs",
       [](Json& c) {
         c["eagle_aux_hidden_state_layer_ids"] = Json::array({0, 2, 4});
       }},
      {"tap 5",
       [](Json& c) {
         c["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = Json::array({0, 2, 5});
         c.erase("eagle_aux_hidden_state_layer_ids");
       }},
      {"taps",
       [](Json& c) {
         c["eagle_config"]["eagle_aux_hidden_state_layer_ids"] = Json::array({0, 2, 3});
         c.erase("eagle_aux_hidden_state_layer_ids");
       }},
      {"hone_contract", [](Json& c) { c["hone_contract"] = 3; }},
      {"vocabulary map",
       [](Json& c) { c["hone_contract"]["vocabulary_map_hash"] = std::string(64, '0'); }},
  };
  for (const auto& [reason, change] : cases) {
    Written written("config");
    change(written.config);
    EXPECT_THAT(written.refusal(), HasSubstr(reason));
  }
}

TEST(Eagle3Checkpoint, TapsOfHeadsOfOthersAreConverted) {
  Written outputs("outputs");
  outputs.config.erase("hone_contract");
  outputs.config.erase("eagle_aux_hidden_state_layer_ids");
  EXPECT_EQ(outputs.read().config.taps, (std::vector<int64_t>{0, 2, 4}));
  Written inputs("inputs");
  inputs.config.erase("hone_contract");
  inputs.config.erase("eagle_config");
  EXPECT_EQ(inputs.read().config.taps, (std::vector<int64_t>{0, 2, 4}));
  Written none("none");
  none.config.erase("hone_contract");
  none.config.erase("eagle_config");
  none.config.erase("eagle_aux_hidden_state_layer_ids");
  EXPECT_EQ(none.read().config.taps, default_eagle3_taps(6));
}

}  // namespace
}  // namespace hone
