#include "speculator/data/answers.h"

#include <algorithm>
#include <fstream>
#include <map>
#include <span>
#include <sstream>
#include <string>
#include <utility>

#include "core/base/cancel.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/log.h"
#include "core/base/progress.h"
#include "core/json/json.h"

namespace hone {
namespace {

using Answers = std::map<int64_t, std::vector<int32_t>>;

// What the answers depend on.
std::string journal_key(
    const LoadedModel& target,
    const std::vector<TrainingPrompt>& prompts,
    const AnswerOptions& options
) {
  Sha256 hash;
  hash.update(target.model->content_hash());
  hash.update(fmt::format(
      "{} {} {} {} {}",
      profile_name(target.model->profile()),
      options.max_new_tokens,
      options.max_length,
      options.temperature,
      options.seed
  ));
  for (const TrainingPrompt& prompt : prompts) {
    hash.update(fmt::format(" {}:", prompt.ids.size()));
    hash.update(std::as_bytes(std::span(prompt.ids)));
  }
  return hash.hex();
}

// Complete lines of a journal with this key; anything else gives nothing.
Answers read_journal(const std::filesystem::path& path, const std::string& key, size_t prompts) {
  Answers answers;
  std::ifstream file(path);
  std::string line;
  if (!std::getline(file, line) || file.eof()) return answers;
  const Json head = Json::parse(line, nullptr, false);
  if (!head.is_object() || head.value("key", "") != key) return answers;
  while (std::getline(file, line)) {
    // A killed run leaves a last line without its end.
    if (file.eof()) break;
    const Json entry = Json::parse(line, nullptr, false);
    if (!entry.is_object() || !entry.contains("prompt") || !entry.contains("answer")) break;
    const auto index = entry["prompt"].get<int64_t>();
    if (index < 0 || std::cmp_greater_equal(index, prompts)) break;
    answers[index] = entry["answer"].get<std::vector<int32_t>>();
  }
  return answers;
}

std::string journal_line(int64_t index, const std::vector<int32_t>& answer) {
  return dump_json(Json{{"prompt", index}, {"answer", answer}}) + "\n";
}

// Starts the journal anew with what is known, so that a torn line is gone.
std::ofstream open_journal(
    const std::filesystem::path& path, const std::string& key, const Answers& answers
) {
  std::string text = dump_json(Json{{"key", key}}) + "\n";
  for (const auto& [index, answer] : answers) text += journal_line(index, answer);
  write_text_file(path, text);
  std::ofstream file(path, std::ios::app);
  require_data(file.good(), "{}: cannot be written", path.string());
  return file;
}

Request make_request(
    const LoadedModel& target, const TrainingPrompt& prompt, const AnswerOptions& options
) {
  Request request;
  request.prompt = prompt.ids;
  request.sampling.temperature = static_cast<float>(options.temperature);
  // Keyed by the prompt's place too: equal openings must not draw equal answers.
  request.sampling.seed = static_cast<uint64_t>(options.seed) * 0x9E3779B97F4A7C15ULL +
                          static_cast<uint64_t>(prompt.index);
  request.stop_ids = target.stop_ids;
  const int64_t room = std::min(options.max_length, target.model->config().max_positions) -
                       static_cast<int64_t>(prompt.ids.size());
  request.max_tokens = std::min(options.max_new_tokens, room);
  return request;
}

}  // namespace

std::vector<TrainingRow> answer_prompts(
    LoadedModel& target,
    const std::vector<TrainingPrompt>& prompts,
    const AnswerOptions& options,
    const std::filesystem::path& journal
) {
  const std::string key = journal_key(target, prompts, options);
  Answers answers = read_journal(journal, key, prompts.size());
  if (!answers.empty())
    log_info("{} of {} answers were already there", answers.size(), prompts.size());
  std::ofstream file = open_journal(journal, key, answers);

  EngineOptions engine_options;
  engine_options.max_batch = options.batch;
  Engine engine(*target.model, target.tokenizer, engine_options);
  Progress progress("answers", static_cast<int64_t>(prompts.size()), "prompts");
  progress.advance(static_cast<int64_t>(answers.size()));
  int64_t tokens = 0;
  for (const TrainingPrompt& prompt : prompts) {
    if (answers.contains(prompt.index)) continue;
    engine.submit(
        make_request(target, prompt, options),
        [&, index = prompt.index](const Engine::Update& update) {
          if (update.done == nullptr) return;
          // The end token belongs to the answer: the head has to predict it too.
          std::vector<int32_t> answer = update.done->ids;
          if (update.done->stop_id >= 0) answer.push_back(update.done->stop_id);
          tokens += static_cast<int64_t>(answer.size());
          file << journal_line(index, answer) << std::flush;
          answers[index] = std::move(answer);
          progress.note(fmt::format("{} tokens", tokens));
          progress.advance();
        }
    );
  }
  while (engine.step()) throw_if_cancelled();
  require_data(file.good(), "{}: cannot be written (disk full?)", journal.string());

  std::vector<TrainingRow> rows;
  for (const TrainingPrompt& prompt : prompts)
    rows.push_back(TrainingRow::make(prompt.conversation, prompt.ids, answers[prompt.index]));
  return rows;
}

}  // namespace hone
