// HQ1xx: files, index and shard headers.
#include <algorithm>
#include <map>

#include "core/base/error.h"
#include "core/base/file.h"
#include "quant/check/check_table.h"

namespace hone {
namespace {

constexpr std::string_view kWeights = ".safetensors";

void config_is_there(const CheckContext& c, Findings& found) {
  if (!c.files.config.exists) found.add(kConfigFile, "the folder has no such file");
}

void documents_are_json(const CheckContext& c, Findings& found) {
  const auto judge = [&](const char* name, const SnapshotDocument& document) {
    if (document.exists && !document.document && !c.files.pointers.contains(name))
      found.add(name, document.error);
  };
  judge(kConfigFile, c.files.config);
  judge(kQuantFile, c.files.quant_file);
  for (const char* name :
       {"tokenizer.json",
        "tokenizer_config.json",
        "special_tokens_map.json",
        "generation_config.json",
        "preprocessor_config.json",
        "processor_config.json",
        "chat_template.json"}) {
    if (!c.files.has_file(name) || c.files.pointers.contains(name)) continue;
    try {
      (void)read_json_file(c.files.folder / name);
    } catch (const Error& error) {
      found.add(name, error.what());
    }
  }
}

void weights_are_there(const CheckContext& c, Findings& found) {
  if (c.files.index.exists || c.files.has_file(kSingleFile)) return;
  const auto shards = std::ranges::count_if(c.files.files, [](const std::string& file) {
    return file.ends_with(kWeights);
  });
  if (shards > 0) {
    found.add(kIndexFile, fmt::format("{} {} files lie there without an index", shards, kWeights));
    return;
  }
  found.add(
      kSingleFile,
      "there is neither this file nor an index; other formats (.bin, .gguf) do not count"
  );
}

void index_is_readable(const CheckContext& c, Findings& found) {
  if (!c.files.index.error.empty() && !c.files.pointers.contains(kIndexFile))
    found.add(kIndexFile, c.files.index.error);
  for (const std::string& tensor : c.files.index.not_strings) {
    found.add(tensor, "the index gives no file name for it");
  }
}

void shard_names_stay_inside(const CheckContext& c, Findings& found) {
  for (const std::string& name : c.files.unsafe_shards) {
    found.add(kIndexFile, fmt::format("it names \"{}\", which leaves the folder", name));
  }
}

void shards_are_there(const CheckContext& c, Findings& found) {
  for (const std::string& name : c.files.missing_shards) {
    found.add(name, "the index names it, but it is missing");
  }
}

void no_lfs_pointers(const CheckContext& c, Findings& found) {
  for (const std::string& name : c.files.pointers) {
    found.add(name, "it holds a Git LFS pointer of a few lines instead of the contents");
  }
}

template <ScanProblem::Kind kKind>
void shard_problems(const CheckContext& c, Findings& found) {
  for (const SnapshotShard& shard : c.files.shards) {
    for (const ScanProblem& problem : shard.scan->problems()) {
      if (problem.kind != kKind) continue;
      const std::string subject =
          problem.tensor.empty() ? shard.name : shard.name + ": " + problem.tensor;
      found.add(subject, problem.text);
    }
  }
}

void indexed_tensors_are_in_their_shard(const CheckContext& c, Findings& found) {
  std::map<std::string, std::set<std::string_view>> held;
  for (const SnapshotShard& shard : c.files.shards) {
    if (!shard.scan->readable()) continue;
    std::set<std::string_view>& names = held[shard.name];
    for (const ScannedTensor& tensor : shard.scan->tensors()) names.insert(tensor.name);
    for (const std::string& tensor : shard.scan->broken()) names.insert(tensor);
  }
  for (const auto& [tensor, shard] : c.files.index.weight_map) {
    const auto it = held.find(shard);
    if (it == held.end() || it->second.contains(tensor)) continue;
    const SnapshotTensor* elsewhere = c.files.find(tensor);
    found.add(
        tensor,
        fmt::format(
            "the index puts it into {}, {}",
            shard,
            elsewhere == nullptr ? "which does not have it"
                                 : "but it is in " + elsewhere->shard->name
        )
    );
  }
}

void tensors_are_in_the_index(const CheckContext& c, Findings& found) {
  if (!c.files.index.exists || !c.files.index.error.empty()) return;
  std::set<std::string_view> indexed;
  for (const auto& [tensor, shard] : c.files.index.weight_map) indexed.insert(tensor);
  for (const std::string& tensor : c.files.index.not_strings) indexed.insert(tensor);
  for (const std::string& name : c.files.names) {
    if (!indexed.contains(name))
      found.add(
          name, fmt::format("it is in {}, but not in the index", c.files.find(name)->shard->name)
      );
  }
}

void tensors_are_in_one_shard(const CheckContext& c, Findings& found) {
  for (const Snapshot::Twice& twice : c.files.twice) {
    found.add(twice.tensor, fmt::format("it is in {} and in {}", twice.first, twice.second));
  }
}

void total_size_is_exact(const CheckContext& c, Findings& found) {
  if (!c.files.index.exists || !c.files.index.error.empty() || !c.files.unreachable.empty()) return;
  const int64_t bytes = c.files.tensor_bytes();
  if (!c.files.index.total_size) {
    found.add(kIndexFile, fmt::format("metadata.total_size is missing, expected {}", bytes));
  } else if (*c.files.index.total_size != bytes) {
    found.add(
        kIndexFile,
        fmt::format(
            "metadata.total_size is {}, the tensors take {} bytes", *c.files.index.total_size, bytes
        )
    );
  }
}

bool named_by_index(const Snapshot& files, const std::string& name) {
  return std::ranges::any_of(files.shards, [&](const SnapshotShard& s) { return s.name == name; });
}

void no_stale_single_file(const CheckContext& c, Findings& found) {
  if (c.files.index.exists && c.files.index.error.empty() && c.files.has_file(kSingleFile) &&
      !named_by_index(c.files, kSingleFile))
    found.add(kSingleFile, "it lies beside an index that does not name it");
}

void no_stray_shards(const CheckContext& c, Findings& found) {
  for (const std::string& file : c.files.files) {
    if (!file.ends_with(kWeights) || file == kSingleFile || named_by_index(c.files, file)) continue;
    found.add(file, "it belongs to no index");
  }
}

void tokenizer_is_there(const CheckContext& c, Findings& found) {
  if (!is_language_model(c)) return;
  for (const std::string& file : c.files.files) {
    if (file == "tokenizer.json" || file == "tokenizer.model" || file == "vocab.json" ||
        file == "tekken.json" || file.ends_with(".tiktoken") || file == "tiktoken.model")
      return;
  }
  found.add("tokenizer.json", "there is no tokenizer in the folder");
}

void generation_config_is_there(const CheckContext& c, Findings& found) {
  if (is_language_model(c) && !c.files.has_file("generation_config.json"))
    found.add("generation_config.json", "the folder has no such file");
}

void preprocessor_is_there(const CheckContext& c, Findings& found) {
  if (!c.files.config.document || !is_language_model(c)) return;
  if (object_field(*c.files.config.document, "vision_config") == nullptr) return;
  if (c.files.has_file("preprocessor_config.json") || c.files.has_file("processor_config.json"))
    return;
  found.add("preprocessor_config.json", "config.json has a vision_config, the folder no such file");
}

void remote_code_is_there(const CheckContext& c, Findings& found) {
  if (!c.files.config.document) return;
  const Json* map = object_field(*c.files.config.document, "auto_map");
  if (map == nullptr) return;
  std::set<std::string> missing;
  for (const auto& [key, value] : map->items()) {
    if (!value.is_string()) continue;
    const auto name = value.get<std::string>();
    const size_t dot = name.find('.');
    // "repository--module.Class" is fetched from there.
    if (dot == std::string::npos || name.find("--") != std::string::npos) continue;
    const std::string file = name.substr(0, dot) + ".py";
    if (!c.files.has_file(file) && missing.insert(file).second)
      found.add(file, fmt::format("auto_map.{} names it, but it is missing", key));
  }
}

void no_leftovers(const CheckContext& c, Findings& found) {
  for (const std::string& file : c.files.files) {
    if (file.ends_with(".partial") || file.ends_with(".incomplete"))
      found.add(file, "it was left by a run that did not end");
  }
}

constexpr CheckLevel kFault = CheckLevel::kFault;
constexpr CheckLevel kWarning = CheckLevel::kWarning;
constexpr CheckNeeds kNothing = CheckNeeds::kNothing;

constexpr Check kChecks[] = {
    {"HQ101",
     kFault,
     kNoEngine,
     kNothing,
     "config.json is missing",
     "copy config.json from the source of the checkpoint",
     config_is_there},
    {"HQ102",
     kFault,
     kNoEngine,
     kNothing,
     "A JSON file of the folder cannot be read",
     "restore the file from the source of the checkpoint",
     documents_are_json},
    {"HQ103",
     kFault,
     kNoEngine,
     kNothing,
     "There are no weights that loaders find",
     "write model.safetensors, or shards with model.safetensors.index.json",
     weights_are_there},
    {"HQ104",
     kFault,
     kNoEngine,
     kNothing,
     "The index cannot be read",
     "write model.safetensors.index.json again from the shard headers",
     index_is_readable},
    {"HQ105",
     kFault,
     kNoEngine,
     kNothing,
     "The index names a file outside of the folder",
     "name shards without folders: they lie beside the index",
     shard_names_stay_inside},
    {"HQ106",
     kFault,
     kNoEngine,
     kNothing,
     "A shard that the index names is missing",
     "copy the shard, or write the checkpoint again",
     shards_are_there},
    {"HQ107",
     kFault,
     kNoEngine,
     kNothing,
     "A file is a Git LFS pointer",
     "run `git lfs pull` in the repository that the file comes from",
     no_lfs_pointers},
    {"HQ108",
     kFault,
     kNoEngine,
     kNothing,
     "A shard has no readable header",
     "copy the shard again; it is truncated or no safetensors file",
     shard_problems<ScanProblem::Kind::kHeader>},
    {"HQ109",
     kFault,
     kNoEngine,
     kNothing,
     "A tensor's entry in a shard header is broken",
     "copy the shard again, or write it with a sound writer",
     shard_problems<ScanProblem::Kind::kTensor>},
    {"HQ110",
     kFault,
     kNoEngine,
     kNothing,
     "The tensors of a shard overlap or leave gaps",
     "write the shard again: the format wants its tensors back to back",
     shard_problems<ScanProblem::Kind::kLayout>},
    {"HQ111",
     kFault,
     kNoEngine,
     kNothing,
     "The index is stale: a tensor is not in the shard it names",
     "write the index again from the shard headers",
     indexed_tensors_are_in_their_shard},
    {"HQ112",
     kFault,
     kNoEngine,
     kNothing,
     "The index is stale: it does not name a tensor of a shard",
     "write the index again from the shard headers",
     tensors_are_in_the_index},
    {"HQ113",
     kFault,
     kNoEngine,
     kNothing,
     "A tensor is in two shards",
     "remove one copy: which one a loader keeps is chance",
     tensors_are_in_one_shard},
    {"HQ114",
     kWarning,
     kNoEngine,
     kNothing,
     "total_size of the index is not the sum of the tensors' bytes",
     "set metadata.total_size to that sum (not to the sizes of the files)",
     total_size_is_exact},
    {"HQ115",
     kFault,
     kNoEngine,
     kNothing,
     "model.safetensors lies beside an index that does not name it",
     "remove whichever is stale: loaders differ in which they take",
     no_stale_single_file},
    {"HQ116",
     kWarning,
     kNoEngine,
     kNothing,
     "A shard belongs to no index",
     "remove it: some loaders read every .safetensors file of the folder",
     no_stray_shards},
    {"HQ117",
     kWarning,
     kNoEngine,
     kNothing,
     "The folder has no tokenizer",
     "copy the tokenizer's files, or name another tokenizer when serving",
     tokenizer_is_there},
    {"HQ118",
     kWarning,
     kNoEngine,
     kNothing,
     "generation_config.json is missing",
     "copy it: it holds end-of-text ids and sampling defaults that engines use",
     generation_config_is_there},
    {"HQ119",
     kFault,
     kNoEngine,
     kNothing,
     "A vision model has no preprocessor config",
     "copy preprocessor_config.json; engines do not start without it",
     preprocessor_is_there},
    {"HQ120",
     kWarning,
     kNoEngine,
     kNothing,
     "A Python file that config.json names is missing",
     "copy the file, or remove auto_map where the engine knows the architecture",
     remote_code_is_there},
    {"HQ121",
     kWarning,
     kNoEngine,
     kNothing,
     "A half-written file was left behind",
     "remove it, after making sure that no run is still writing",
     no_leftovers},
};

}  // namespace

std::span<const Check> file_checks() {
  return kChecks;
}

}  // namespace hone
