#include "speculator/train/checkpoint.h"

#include <cstring>
#include <map>
#include <span>

#include "core/base/error.h"
#include "core/io/safetensors.h"

namespace hone {
namespace {

std::vector<float> read_vector(const SafetensorsFile& file, const std::string& name) {
  const TensorView view = file.tensor(name);
  require_data(
      view.type == DType::kF32 && view.shape.rank() == 1,
      "{}: {} is {} {}, expected an F32 vector",
      file.path().string(),
      name,
      dtype_name(view.type),
      view.shape.str()
  );
  std::vector<float> values(static_cast<size_t>(view.numel()));
  std::memcpy(values.data(), view.data, values.size() * sizeof(float));
  return values;
}

}  // namespace

void save_training_state(const std::filesystem::path& path, const TrainingState& state) {
  const std::map<std::string, const std::vector<float>*> vectors = {
      {"weights", &state.weights},
      {"first_moment", &state.first_moment},
      {"second_moment", &state.second_moment}};
  std::vector<TensorSpec> specs;
  for (const auto& [name, values] : vectors)
    specs.push_back({name, DType::kF32, {static_cast<int64_t>(values->size())}});
  SafetensorsWriter writer(path, specs, {{"key", state.key}, {"step", std::to_string(state.step)}});
  for (const auto& [name, values] : vectors) writer.append(name, std::as_bytes(std::span(*values)));
  writer.finish();
}

std::optional<TrainingState> load_training_state(
    const std::filesystem::path& path, const std::string& key, size_t size
) {
  if (!std::filesystem::exists(path)) return std::nullopt;
  const auto file = SafetensorsFile::open(path);
  const auto& metadata = file->metadata();
  require_data(
      metadata.contains("key") && metadata.contains("step"),
      "{}: no training state; remove it to start anew",
      path.string()
  );
  if (metadata.at("key") != key) return std::nullopt;
  TrainingState state;
  state.key = key;
  state.step = std::stoll(metadata.at("step"));
  state.weights = read_vector(*file, "weights");
  state.first_moment = read_vector(*file, "first_moment");
  state.second_moment = read_vector(*file, "second_moment");
  if (state.weights.size() != size || state.first_moment.size() != size ||
      state.second_moment.size() != size)
    return std::nullopt;
  return state;
}

}  // namespace hone
