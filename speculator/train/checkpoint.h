// State of a training run on disk: enough to go on bit for bit.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace hone {

// Everything else (batches, learning rate) is a function of the options and the step.
struct TrainingState {
  std::string key;   // of the options and inputs; a state of another run is not continued
  int64_t step = 0;  // optimizer steps done
  std::vector<float> weights;
  std::vector<float> first_moment;
  std::vector<float> second_moment;
};

// Replaces `path` atomically (safetensors).
void save_training_state(const std::filesystem::path& path, const TrainingState& state);
// Empty when there is no file, or it belongs to another key or size. Throws DataError for a file
// that is not a training state.
std::optional<TrainingState> load_training_state(
    const std::filesystem::path& path, const std::string& key, size_t size
);

}  // namespace hone
