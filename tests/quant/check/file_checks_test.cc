#include <fstream>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "tests/quant/check/planted_fault.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kSingle = "model.safetensors";
constexpr const char* kFirst = "model-00001-of-00002.safetensors";
constexpr const char* kSecond = "model-00002-of-00002.safetensors";
constexpr const char* kPointer =
    "version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 12345\n";

void overwrite(const fs::path& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary);
  file << bytes;
}

void edit_index(const fs::path& folder, const std::function<void(Json&)>& edit) {
  Json index = read_json_file(folder / kIndex);
  edit(index);
  overwrite(folder / kIndex, index.dump());
}

// Replaces text of equal length in a file.
void patch(const fs::path& path, const std::string& from, const std::string& to) {
  std::string bytes = read_text_file(path);
  const size_t at = bytes.find(from);
  ASSERT_NE(at, std::string::npos) << from;
  ASSERT_EQ(from.size(), to.size());
  overwrite(path, bytes.replace(at, from.size(), to));
}

}  // namespace

std::vector<PlantedFault> file_faults() {
  const auto folder = [](const char* id,
                         const char* name,
                         const StoredCheckpoint& (*base)(),
                         std::function<void(const fs::path&)> damage) {
    return PlantedFault{.id = id, .name = name, .base = base, .damage = std::move(damage)};
  };
  return {
      folder(
          "HQ101", "NoConfig", sound_dense, [](const fs::path& f) { fs::remove(f / "config.json"); }
      ),
      folder(
          "HQ102",
          "ConfigIsCutOff",
          sound_dense,
          [](const fs::path& f) { overwrite(f / "config.json", "{\"architectures\": ["); }
      ),
      folder(
          "HQ102",
          "ConfigIsAList",
          sound_dense,
          [](const fs::path& f) { overwrite(f / "config.json", "[]"); }
      ),
      folder(
          "HQ102",
          "TokenizerIsCutOff",
          sound_dense,
          [](const fs::path& f) { overwrite(f / "tokenizer.json", "{"); }
      ),
      folder("HQ103", "NoWeights", sound_dense, [](const fs::path& f) { fs::remove(f / kSingle); }),
      folder(
          "HQ103",
          "ShardsWithoutAnIndex",
          sound_two_shards,
          [](const fs::path& f) { fs::remove(f / kIndex); }
      ),
      folder(
          "HQ104",
          "IndexIsNoJson",
          sound_two_shards,
          [](const fs::path& f) { overwrite(f / kIndex, "not json"); }
      ),
      folder(
          "HQ104",
          "IndexHasNoMap",
          sound_two_shards,
          [](const fs::path& f) { overwrite(f / kIndex, "{\"metadata\": {}}"); }
      ),
      folder(
          "HQ104",
          "ShardIsANumber",
          sound_two_shards,
          [](const fs::path& f) {
            edit_index(f, [](Json& index) { index["weight_map"]["model.norm.weight"] = 1; });
          }
      ),
      folder(
          "HQ105",
          "ShardOutsideTheFolder",
          sound_two_shards,
          [](const fs::path& f) {
            edit_index(f, [](Json& index) {
              index["weight_map"]["model.norm.weight"] = std::string("../") + kFirst;
            });
            // Only the index is wrong: without the tensor elsewhere nothing else is.
            StoredCheckpoint rest = sound_two_shards();
            rest.tensors.erase("model.norm.weight");
            for (const std::string& name : rest.second_shard) rest.tensors.erase(name);
            overwrite(f / kFirst, testing_fixture::safetensors_file(rest.tensors));
          }
      ),
      folder(
          "HQ106",
          "MissingShard",
          sound_two_shards,
          [](const fs::path& f) { fs::remove(f / kSecond); }
      ),
      folder(
          "HQ107",
          "ShardIsAPointer",
          sound_two_shards,
          [](const fs::path& f) { overwrite(f / kSecond, kPointer); }
      ),
      folder(
          "HQ107",
          "OnlyFileIsAPointer",
          sound_dense,
          [](const fs::path& f) { overwrite(f / kSingle, kPointer); }
      ),
      folder(
          "HQ107",
          "TokenizerIsAPointer",
          sound_dense,
          [](const fs::path& f) { overwrite(f / "tokenizer.json", kPointer); }
      ),
      folder(
          "HQ107",
          "ConfigIsAPointer",
          sound_dense,
          [](const fs::path& f) { overwrite(f / "config.json", kPointer); }
      ),
      folder(
          "HQ108",
          "EmptyShard",
          sound_two_shards,
          [](const fs::path& f) { overwrite(f / kSecond, ""); }
      ),
      folder(
          "HQ108",
          "HeaderLongerThanTheFile",
          sound_dense,
          [](const fs::path& f) {
            overwrite(f / kSingle, std::string("\xFF\xFF\xFF\x00\x00\x00\x00\x00{}", 10));
          }
      ),
      folder(
          "HQ108",
          "HeaderIsNoJson",
          sound_dense,
          [](const fs::path& f) {
            overwrite(f / kSingle, std::string("\x04\x00\x00\x00\x00\x00\x00\x00oops", 12));
          }
      ),
      folder(
          "HQ109",
          "UnknownType",
          sound_dense,
          [](const fs::path& f) { patch(f / kSingle, "\"BF16\"", "\"QF16\""); }
      ),
      folder(
          "HQ109",
          "TruncatedShard",
          sound_dense,
          [](const fs::path& f) { fs::resize_file(f / kSingle, fs::file_size(f / kSingle) - 100); }
      ),
      folder(
          "HQ109",
          "ShapeAgainstOffsets",
          sound_dense,
          [](const fs::path& f) { patch(f / kSingle, "[64,256]", "[65,256]"); }
      ),
      folder(
          "HQ110",
          "BytesAfterTheLastTensor",
          sound_dense,
          [](const fs::path& f) { fs::resize_file(f / kSingle, fs::file_size(f / kSingle) + 16); }
      ),
      folder(
          "HQ111",
          "IndexNamesATensorThatIsGone",
          sound_two_shards,
          [](const fs::path& f) {
            edit_index(f, [](Json& index) { index["weight_map"]["model.gone.bias"] = kFirst; });
          }
      ),
      folder(
          "HQ111",
          "IndexNamesTheWrongShard",
          sound_two_shards,
          [](const fs::path& f) {
            edit_index(f, [](Json& index) { index["weight_map"]["model.norm.weight"] = kSecond; });
          }
      ),
      folder(
          "HQ112",
          "TensorIsNotInTheIndex",
          sound_two_shards,
          [](const fs::path& f) {
            edit_index(f, [](Json& index) { index["weight_map"].erase("model.norm.weight"); });
          }
      ),
      folder(
          "HQ113",
          "TensorInTwoShards",
          sound_two_shards,
          [](const fs::path& f) {
            std::map<std::string, StoredBytes> second;
            for (const std::string& name : sound_two_shards().second_shard)
              second[name] = sound_two_shards().tensors.at(name);
            second["model.norm.weight"] = sound_two_shards().tensors.at("model.norm.weight");
            overwrite(f / kSecond, testing_fixture::safetensors_file(second));
          }
      ),
      folder(
          "HQ114",
          "TotalSizeOfFiles",
          sound_two_shards,
          [](const fs::path& f) {
            edit_index(f, [](Json& index) { index["metadata"]["total_size"] = 12345; });
          }
      ),
      folder(
          "HQ114",
          "NoTotalSize",
          sound_two_shards,
          [](const fs::path& f) {
            edit_index(f, [](Json& index) { index["metadata"] = Json::object(); });
          }
      ),
      folder(
          "HQ115",
          "StaleSingleFile",
          sound_two_shards,
          [](const fs::path& f) { fs::copy_file(f / kSecond, f / kSingle); }
      ),
      folder(
          "HQ116",
          "StrayShard",
          sound_two_shards,
          [](const fs::path& f) { fs::copy_file(f / kSecond, f / "consolidated.safetensors"); }
      ),
      folder(
          "HQ117",
          "NoTokenizer",
          sound_dense,
          [](const fs::path& f) { fs::remove(f / "tokenizer.json"); }
      ),
      folder(
          "HQ118",
          "NoGenerationConfig",
          sound_dense,
          [](const fs::path& f) { fs::remove(f / "generation_config.json"); }
      ),
      {.id = "HQ119",
       .name = "VisionModelWithoutPreprocessor",
       .base = sound_dense,
       .plant =
           [](StoredCheckpoint& c) {
             edit_config(c, [](Json& config) { config["vision_config"] = {{"depth", 2}}; });
           }},
      {.id = "HQ120",
       .name = "RemoteCodeIsMissing",
       .base = sound_dense,
       .plant =
           [](StoredCheckpoint& c) {
             edit_config(c, [](Json& config) {
               config["auto_map"] = {{"AutoConfig", "configuration_own.OwnConfig"}};
             });
           }},
      folder(
          "HQ121",
          "LeftoverOfAnotherRun",
          sound_dense,
          [](const fs::path& f) { overwrite(f / "model.safetensors.partial", "half"); }
      ),
  };
}

namespace {

class FileFaults : public testing::TestWithParam<PlantedFault> {};

TEST_P(FileFaults, AreFound) {
  expect_found(GetParam());
}

INSTANTIATE_TEST_SUITE_P(All, FileFaults, testing::ValuesIn(file_faults()), fault_name);

}  // namespace
}  // namespace hone
