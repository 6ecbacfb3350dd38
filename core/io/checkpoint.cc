#include "core/io/checkpoint.h"

#include <algorithm>
#include <fstream>
#include <set>

#include <simdjson.h>

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/threads.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr const char* kIndex = "model.safetensors.index.json";
constexpr const char* kSingle = "model.safetensors";

// File names of an index come from outside: no way out of the folder.
void check_shard_name(const fs::path& folder, const std::string& name) {
  const bool ok = !name.empty() && name.find('/') == std::string::npos &&
                  name.find('\\') == std::string::npos && name != "." &&
                  name.find("..") == std::string::npos;
  require_data(
      ok,
      "{}: shard name \"{}\" is refused: shards lie in the checkpoint's own folder",
      (folder / kIndex).string(),
      name
  );
}

// (tensor, shard) of the index, in its order.
std::vector<std::pair<std::string, std::string>> read_index(const fs::path& folder) {
  const fs::path path = folder / kIndex;
  const std::string text = read_text_file(path);
  simdjson::dom::parser parser;
  simdjson::dom::element root;
  auto error = parser.parse(text).get(root);
  require_data(!error, "{}: {}", path.string(), simdjson::error_message(error));
  simdjson::dom::object map;
  error = root["weight_map"].get(map);
  require_data(!error, "{}: \"weight_map\" must be an object", path.string());
  std::vector<std::pair<std::string, std::string>> entries;
  std::set<std::string_view> seen;
  for (const auto& [tensor, shard] : map) {
    require_data(
        seen.insert(tensor).second, "{}: tensor \"{}\" is listed twice", path.string(), tensor
    );
    std::string_view name;
    require_data(
        !shard.get(name), "{}: shard of tensor \"{}\" must be a string", path.string(), tensor
    );
    check_shard_name(folder, std::string(name));
    entries.emplace_back(tensor, name);
  }
  return entries;
}

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  for (size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0]++;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t next = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = std::exchange(row[j], next);
    }
  }
  return row[b.size()];
}

bool is_weight_file(const std::string& name) {
  for (const char* suffix : {".safetensors", ".bin", ".pt", ".pth", ".gguf", ".h5", ".msgpack"}) {
    if (name.ends_with(suffix)) return true;
  }
  return name.ends_with(".index.json");
}

// The quantization's description, which a dialect owns: outputs get one of their own.
constexpr const char* kQuantConfig = "hf_quant_config.json";

// Belongs to the model, not to what somebody put beside it: data sets and our own records do not.
bool is_side_file(const std::string& name) {
  return !is_weight_file(name) && name != "config.json" && name != "hone.json" &&
         name != "hone.run.json" && name != "README.md" && name != kQuantConfig &&
         !name.starts_with(".") && !name.ends_with(".jsonl") && !name.ends_with(".partial");
}

}  // namespace

fs::path find_checkpoint(const std::string& model, const std::vector<fs::path>& cache_roots) {
  if (fs::is_directory(model)) return model;
  std::vector<std::string> tried{model};
  if (std::ranges::count(model, '/') == 1 && !model.starts_with(".")) {
    std::string entry = "models--" + model;
    entry.replace(entry.find('/'), 1, "--");
    for (const fs::path& root : cache_roots) {
      const fs::path folder = root / entry;
      tried.push_back(folder.string());
      std::ifstream in(folder / "refs" / "main");
      std::string revision;
      if (!(in >> revision) || revision.find('/') != std::string::npos) continue;
      fs::path snapshot = folder / "snapshots" / revision;
      if (fs::is_directory(snapshot)) return snapshot;
      tried.push_back(snapshot.string());
    }
  }
  throw UsageError(fmt::format(
      "no model \"{}\": it is neither a folder nor in the Hugging Face cache (nothing is "
      "downloaded); looked at {}",
      model,
      fmt::join(tried, ", ")
  ));
}

const void* Checkpoint::derived_value(
    std::type_index type, const std::function<std::shared_ptr<const void>()>& make
) const {
  const std::lock_guard lock(derived_mutex_);
  std::shared_ptr<const void>& value = derived_[type];
  if (value == nullptr) value = make();
  return value.get();
}

std::shared_ptr<const Checkpoint> Checkpoint::open(const fs::path& folder) {
  std::shared_ptr<Checkpoint> checkpoint(new Checkpoint());
  checkpoint->folder_ = folder;
  const fs::path config = folder / "config.json";
  require_data(
      fs::exists(config),
      "{} is missing: {} is no checkpoint folder",
      config.string(),
      folder.string()
  );
  checkpoint->config_ = read_json_file(config);
  require_data(checkpoint->config_.is_object(), "{}: expected an object", config.string());

  std::vector<std::string> shard_order;
  const auto add_shard = [&](const std::string& name) {
    if (checkpoint->shards_.contains(name)) return;
    const fs::path path = folder / name;
    require_data(fs::exists(path), "{} is missing: the checkpoint is incomplete", path.string());
    checkpoint->shards_[name] = SafetensorsFile::open(path);
    shard_order.push_back(name);
  };
  std::vector<std::pair<std::string, std::string>> index;
  if (fs::exists(folder / kIndex)) {
    index = read_index(folder);
    for (const auto& [tensor, shard] : index) add_shard(shard);
    std::ranges::sort(shard_order);
    require_data(
        checkpoint->shards_.contains(kSingle) || !fs::exists(folder / kSingle),
        "{} has both {} and an {} that does not name it: engines differ in which they load; remove "
        "the stale one",
        folder.string(),
        kSingle,
        kIndex
    );
  } else {
    require_data(
        fs::exists(folder / kSingle),
        "{} has neither {} nor {}; weights in other formats (.bin, .pth, .gguf) must be converted "
        "to safetensors first",
        folder.string(),
        kSingle,
        kIndex
    );
    add_shard(kSingle);
  }
  for (const std::string& shard : shard_order) {
    for (const std::string& name : checkpoint->shards_[shard]->names()) {
      const auto [it, fresh] = checkpoint->where_.emplace(name, shard);
      require_data(
          fresh, "{}: tensor \"{}\" is in {} and in {}", folder.string(), name, it->second, shard
      );
      checkpoint->names_.push_back(name);
    }
  }
  for (const auto& [tensor, shard] : index) {
    auto it = checkpoint->where_.find(tensor);
    require_data(
        it != checkpoint->where_.end() && it->second == shard,
        "{}: the index puts tensor \"{}\" into {}, which does not have it",
        (folder / kIndex).string(),
        tensor,
        shard
    );
  }
  return checkpoint;
}

TensorView Checkpoint::tensor(const std::string& name) const {
  return shards_.at(shard_of(name))->tensor(name);
}

Tensor Checkpoint::borrow(const std::string& name) const {
  const auto& shard = shards_.at(shard_of(name));
  return Tensor::borrow(shard->tensor(name), shard);
}

const std::string& Checkpoint::shard_of(const std::string& name) const {
  auto it = where_.find(name);
  if (it != where_.end()) return it->second;
  std::string nearest;
  size_t best = name.size();
  for (const std::string& other : names_) {
    const size_t distance = edit_distance(name, other);
    if (distance < best) {
      best = distance;
      nearest = other;
    }
  }
  throw DataError(fmt::format(
      "{}: tensor \"{}\" is missing{}",
      folder_.string(),
      name,
      nearest.empty() ? "" : fmt::format("; the nearest name is \"{}\"", nearest)
  ));
}

void Checkpoint::drop(const std::string& name) const {
  shards_.at(shard_of(name))->drop(name);
}

void Checkpoint::drop(const std::string& name, int64_t offset, int64_t size) const {
  shards_.at(shard_of(name))->drop(name, offset, size);
}

void Checkpoint::prefetch(const std::string& name, int64_t offset, int64_t size) const {
  shards_.at(shard_of(name))->prefetch(name, offset, size);
}

int64_t Checkpoint::total_bytes() const {
  int64_t total = 0;
  for (const std::string& name : names_) total += tensor(name).nbytes();
  return total;
}

std::vector<std::string> Checkpoint::side_files() const {
  std::vector<std::string> files;
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    if (entry.is_regular_file() && is_side_file(name)) files.push_back(name);
  }
  std::ranges::sort(files);
  return files;
}

std::string Checkpoint::content_hash() const {
  // One digest for each tensor, in parallel; combined by name, so that neither threads nor sharding
  // matter.
  std::vector<std::string> names(names_);
  std::ranges::sort(names);
  std::vector<std::string> digests(names.size());
  Sha256 all;  // made first: OpenSSL leaks a little when a worker thread is its first user
  ThreadPool::global().parallel_for(std::ssize(names), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const TensorView view = tensor(names[i]);
      Sha256 sum;
      sum.update(dtype_name(view.type)).update(view.shape.str()).update(view.bytes());
      digests[i] = sum.hex();
    }
  });
  all.update(dump_json(config_));
  std::vector<std::string> files = side_files();
  if (fs::exists(folder_ / kQuantConfig)) files.emplace_back(kQuantConfig);
  for (const std::string& name : files) {
    all.update("\n").update(name).update("\n").update(sha256_file(folder_ / name));
  }
  for (size_t i = 0; i < names.size(); ++i) {
    all.update("\n").update(names[i]).update("\n").update(digests[i]);
  }
  return all.hex();
}

struct CheckpointWriter::State {
  StagedFolder folder;
  std::vector<std::vector<TensorSpec>> shards;
  std::map<std::string, size_t> shard_of;
  int64_t total_bytes = 0;
  size_t current = 0;
  std::unique_ptr<SafetensorsWriter> writer;
  bool closed = false;

  explicit State(fs::path path) : folder(std::move(path)) {}

  [[nodiscard]] std::string shard_name(size_t shard) const {
    if (shards.size() == 1) return kSingle;
    return fmt::format("model-{:05}-of-{:05}.safetensors", shard + 1, shards.size());
  }
  void open_shard() {
    writer = std::make_unique<SafetensorsWriter>(
        folder.staging() / shard_name(current), shards[current]
    );
  }
  void next_shard() {
    writer->finish();
    writer.reset();
    if (++current < shards.size()) open_shard();
  }
};

CheckpointWriter::CheckpointWriter(fs::path folder, std::vector<TensorSpec> specs, Options options)
    : state_(std::make_unique<State>(std::move(folder))) {
  State& state = *state_;
  state.shards.emplace_back();
  int64_t bytes = 0;
  for (TensorSpec& spec : specs) {
    const int64_t size = byte_size(spec.type, spec.shape);
    if (bytes > 0 && bytes + size > options.max_shard_bytes) {
      state.shards.emplace_back();
      bytes = 0;
    }
    bytes += size;
    state.total_bytes += size;
    const bool fresh = state.shard_of.emplace(spec.name, state.shards.size() - 1).second;
    require(fresh, "tensor \"{}\" would be written twice", spec.name);
    state.shards.back().push_back(std::move(spec));
  }
  state.open_shard();
}

CheckpointWriter::~CheckpointWriter() = default;

void CheckpointWriter::append(const std::string& name, std::span<const std::byte> bytes) {
  State& state = *state_;
  check(!state.closed, "tensor \"{}\" is written after close()", name);
  auto it = state.shard_of.find(name);
  check(it != state.shard_of.end(), "tensor \"{}\" was not announced", name);
  while (state.current < it->second) state.next_shard();
  state.writer->append(name, bytes);
}

void CheckpointWriter::copy_side_file(const fs::path& source) {
  const auto file = MappedFile::open(source);
  AtomicFile copy(state_->folder.staging() / source.filename());
  copy.append(file.bytes());
  copy.commit();
}

void CheckpointWriter::write_text(const std::string& name, std::string_view text) {
  write_text_file(state_->folder.staging() / name, text);
}

void CheckpointWriter::write_json(const std::string& name, const Json& document) {
  write_json_file(state_->folder.staging() / name, document);
}

void CheckpointWriter::close() {
  State& state = *state_;
  if (state.closed) return;
  while (state.current < state.shards.size()) state.next_shard();
  state.closed = true;
  if (state.shards.size() == 1) return;
  // Sorted by name, as Hugging Face writes it.
  Json map = Json::object();
  for (const auto& [name, shard] : state.shard_of) {
    map.get_ref<Json::object_t&>().emplace_back(name, state.shard_name(shard));
  }
  write_json(kIndex, {{"metadata", {{"total_size", state.total_bytes}}}, {"weight_map", map}});
}

const fs::path& CheckpointWriter::staging() const {
  return state_->folder.staging();
}

void CheckpointWriter::commit() {
  close();
  state_->folder.commit();
}

}  // namespace hone
