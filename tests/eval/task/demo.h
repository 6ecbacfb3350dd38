// The included model, its data, and copies of it with something changed.
#pragma once

#include <cstring>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "core/base/file.h"
#include "eval/task/generate.h"
#include "eval/task/model_pair.h"

namespace hone {

inline std::filesystem::path demo_path() {
  return std::filesystem::path(HONE_SOURCE_DIR) / "recipes/demo";
}

inline LoadedModel& demo_model() {
  static LoadedModel model = load_model(demo_path());
  return model;
}

// A copy of the model's folder; `change` gets its path. Unique per test.
inline LoadedModel changed_demo(const std::function<void(const std::filesystem::path&)>& change) {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const auto folder = std::filesystem::path(testing::TempDir()) /
                      (std::string("hone_eval_") + info->test_suite_name() + "_" + info->name());
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  for (const char* name :
       {"config.json",
        "generation_config.json",
        "model.safetensors",
        "special_tokens_map.json",
        "tokenizer.json",
        "tokenizer_config.json"})
    std::filesystem::copy_file(demo_path() / name, folder / name);
  change(folder);
  return load_model(folder);
}

// Adds noise to the weights: clears the low bits of every bfloat16 value of a stretch of the file.
inline void coarsen_weights(const std::filesystem::path& folder) {
  const auto path = folder / "model.safetensors";
  std::string bytes = read_text_file(path);
  uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof(header));
  for (size_t i = sizeof(header) + header; i + 1 < bytes.size(); i += 2)
    bytes[i] = static_cast<char>(static_cast<unsigned char>(bytes[i]) & 0xC0U);
  write_text_file(path, bytes);
}

inline void replace_in_file(
    const std::filesystem::path& path, const std::string& from, const std::string& to
) {
  std::string text = read_text_file(path);
  size_t at = text.find(from);
  ASSERT_NE(at, std::string::npos) << path << " has no " << from;
  for (; at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  write_text_file(path, text);
}

// Lines of a temporary jsonl file, unique per test.
inline std::filesystem::path write_lines(
    const std::vector<std::string>& lines, const char* suffix
) {
  const auto* info = testing::UnitTest::GetInstance()->current_test_info();
  const auto path =
      std::filesystem::path(testing::TempDir()) /
      (std::string("hone_lines_") + info->test_suite_name() + "_" + info->name() + suffix);
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  write_text_file(path, text);
  return path;
}

// Greedy answers of the included model to its evaluation sets, recorded once
// (tests/golden/eval/reference_answers.jsonl, made by `hone eval` on the model itself).
inline std::vector<Answer> recorded_answers(const std::string& task) {
  std::vector<Answer> answers;
  for (const Json& line : read_jsonl_file(
           std::filesystem::path(HONE_SOURCE_DIR) / "tests/golden/eval/reference_answers.jsonl"
       )) {
    if (line.at("task") != task) continue;
    Answer answer;
    answer.text = line.at("text").get<std::string>();
    answer.finish = line.at("finish") == "length" ? FinishReason::kLength : FinishReason::kStop;
    answers.push_back(std::move(answer));
  }
  return answers;
}

}  // namespace hone
