// The training loop of an EAGLE-3 head.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/json/json.h"
#include "core/tensor/tensor.h"
#include "runtime/model/draft/eagle3_config.h"
#include "runtime/model/model.h"
#include "speculator/data/rows.h"
#include "speculator/train/acceptance.h"
#include "speculator/train/optimizer.h"

namespace hone {

struct TrainOptions {
  int64_t steps = 0;  // optimizer steps; 0: `epochs` passes over the rows
  int64_t epochs = 10;
  int64_t batch_tokens = 1024;  // positions that chains start from, in one optimizer step
  int64_t ttt_steps = 5;        // unrolled steps, at least 1
  double decay = 0.8;           // loss weight of step k: decay^k
  LearningRate rate;            // rate.steps is set by the loop
  AdamWOptions adam;
  int64_t seed = 0;
  int64_t checkpoint_every = 50;              // optimizer steps; 0: none
  int64_t evaluate_every = 100;               // optimizer steps; 0: at the end only
  int64_t feature_memory = int64_t{4} << 30;  // bytes of hidden states that are kept
};

// Inputs, borrowed for the call. embeddings, lm_head: [vocab, hidden] f32 of the target.
struct TrainData {
  Model* target = nullptr;
  const Tensor* embeddings = nullptr;
  const Tensor* lm_head = nullptr;
  const RowSplit* rows = nullptr;
  const std::vector<int32_t>* draft_to_target = nullptr;
};

struct TrainResult {
  Eagle3Parameters<Tensor> weights;  // f32
  Acceptance held_out;               // of the final weights
  int64_t steps = 0;
  double first_loss = 0;  // mean over the first and the last tenth of the steps
  double last_loss = 0;
  std::vector<Json> metrics;  // one object a line: training steps and evaluations; no times
};

// Trains to the end. `work` is a folder for the run's state (training.safetensors, metrics.jsonl);
// a run that was killed goes on from its last checkpoint when `key` is the same, and ends with the
// same bits as one that was not. Results do not depend on the number of threads. `on_step`, when
// set, is called after every optimizer step (tests). Throws DataError when the loss is no number.
TrainResult train_eagle3_head(
    const Eagle3Config& config,
    const TrainData& data,
    const TrainOptions& options,
    const std::filesystem::path& work,
    const std::string& key,
    const std::function<void(int64_t step)>& on_step = nullptr
);

}  // namespace hone
