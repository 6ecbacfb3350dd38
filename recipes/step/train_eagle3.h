// Step: train an EAGLE-3 draft head against a frozen target.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "recipes/engine/step.h"

namespace hone {

// Reads a target checkpoint (quantized or not) and prompts; the target answers the prompts, the
// head learns from its hidden states. Writes a folder that SGLang, vLLM and `hone serve --draft`
// load: config.json (with the contract), model.safetensors, metrics.jsonl, README.md, hone.json.
//
// A run that is killed or interrupted resumes when the same command is given again: its state is in
// "<output>.work", which the finished run removes. The result is bit for bit that of a run without
// interruption, for every number of threads.
struct TrainEagle3Step : Step {
  std::string target;
  std::string data;
  std::string output;
  // Data.
  int64_t limit = 0;
  int64_t max_length = 768;
  int64_t max_new_tokens = 256;
  double temperature = 0;
  double held_out = 0.05;
  // Head.
  std::vector<std::string> taps;
  int64_t draft_vocab = 0;
  int64_t intermediate = 0;
  int64_t kv_heads = 0;
  std::string dtype = "bf16";
  // Training.
  int64_t steps = 0;
  int64_t epochs = 10;
  int64_t batch_tokens = 1024;
  int64_t ttt_steps = 5;
  double decay = 0.8;
  double lr = 0;
  double warmup = 0.03;
  double weight_decay = 0.0;
  double clip = 0.5;
  int64_t seed = 0;
  int64_t checkpoint_every = 50;
  int64_t evaluate_every = 100;
  int64_t feature_memory = 4;
  std::string profile = "exact";

  [[nodiscard]] std::string_view kind() const override { return "train-eagle3"; }
  void visit(FieldVisitor& fields) override;
  // Summary: rows, tokens, steps, loss at start and end, acceptance length and rates on held-out
  // conversations. Throws UsageError for options out of range, DataError for inputs.
  StepOutcome run() override;

  // Where an unfinished run keeps its state.
  [[nodiscard]] std::filesystem::path work_folder() const { return output + ".work"; }
};

// The figures as lines for a terminal.
std::string training_table(const StepOutcome& outcome);

}  // namespace hone
