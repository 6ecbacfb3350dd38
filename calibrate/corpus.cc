#include "calibrate/corpus.h"

#include <algorithm>
#include <span>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "core/base/progress.h"
#include "core/json/json.h"

namespace hone {
namespace {

// What one line of the file asks for.
struct Entry {
  std::vector<int32_t> ids;
  bool wants_answer = false;
};

Entry conversation(const Json& line, const LoadedModel& model, const std::string& source) {
  ChatInput input;
  input.messages = line.at("messages");
  require_data(
      input.messages.is_array() && !input.messages.empty(),
      "{}: \"messages\" must be a non-empty list",
      source
  );
  if (auto tools = line.find("tools"); tools != line.end() && tools->is_array()) {
    input.tools = *tools;
  }
  const Json& last = input.messages.back();
  Entry entry;
  entry.wants_answer = json_string(last, "role", source) != "assistant";
  input.add_generation_prompt = entry.wants_answer;
  entry.ids = model.encode_chat(input);
  return entry;
}

std::vector<Entry> read_jsonl(
    const std::filesystem::path& path, const LoadedModel& model, const CorpusLimits& options
) {
  std::vector<Entry> entries;
  int64_t tokens = 0;
  int64_t number = 0;
  for (const Json& line : read_jsonl_file(path)) {
    const std::string source = fmt::format("{}, document {}", path.string(), ++number);
    if (tokens >= options.max_tokens) break;
    Entry entry;
    if (line.is_object() && line.contains("messages")) {
      entry = conversation(line, model, source);
    } else {
      require_data(
          line.is_object(), "{}: expected an object with \"messages\" or \"text\"", source
      );
      entry.ids = model.encode_text(json_string(line, "text", source));
    }
    tokens += static_cast<int64_t>(entry.ids.size());
    if (entry.wants_answer) tokens += options.answer_tokens / 2;  // answers vary in length
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<Entry> read_text(
    const std::filesystem::path& path, const LoadedModel& model, const CorpusLimits& options
) {
  // No tokenizer makes fewer than one token of 16 bytes of prose; more than that is never needed.
  std::string text = read_text_file(path);
  const auto enough = static_cast<size_t>(options.max_tokens) * 16;
  if (text.size() > enough) text.resize(enough);
  const std::vector<int32_t> ids = model.encode_text(text);
  std::vector<Entry> entries;
  const auto length = static_cast<size_t>(options.max_length);
  for (size_t begin = 0; begin < ids.size(); begin += length) {
    const size_t end = std::min(begin + length, ids.size());
    entries.push_back(
        {{ids.begin() + static_cast<int64_t>(begin), ids.begin() + static_cast<int64_t>(end)},
         false}
    );
  }
  return entries;
}

// Lets the model answer; answers keep their end token.
void answer(std::vector<Entry>& entries, LoadedModel& model, const CorpusLimits& options) {
  std::vector<Request> requests;
  std::vector<size_t> owners;
  const int64_t limit = std::min(options.max_length, model.model->config().max_positions);
  for (size_t i = 0; i < entries.size(); ++i) {
    const auto length = static_cast<int64_t>(entries[i].ids.size());
    if (!entries[i].wants_answer || length + 1 >= limit) continue;
    Request request = model.request(entries[i].ids);
    request.sampling = SamplingParams{};
    request.max_tokens = std::min(options.answer_tokens, limit - length);
    requests.push_back(std::move(request));
    owners.push_back(i);
  }
  if (requests.empty() || options.answer_tokens == 0) return;
  Progress progress("answering", static_cast<int64_t>(requests.size()), "prompts");
  Engine engine(*model.model, model.tokenizer, EngineOptions{});
  int64_t seen = 0;
  const auto completions = engine.generate(std::move(requests), [&](int64_t done) {
    progress.advance(done - seen);
    seen = done;
  });
  for (size_t i = 0; i < completions.size(); ++i) {
    Entry& entry = entries[owners[i]];
    require_data(
        completions[i].finish != FinishReason::kError,
        "the model failed on a calibration prompt: {}",
        completions[i].error
    );
    entry.ids.insert(entry.ids.end(), completions[i].ids.begin(), completions[i].ids.end());
    if (completions[i].finish == FinishReason::kStop && !model.stop_ids.empty()) {
      entry.ids.push_back(model.stop_ids.front());
    }
  }
}

}  // namespace

int64_t Corpus::tokens() const {
  int64_t sum = 0;
  for (const auto& sequence : sequences) sum += static_cast<int64_t>(sequence.size());
  return sum;
}

std::string Corpus::hash() const {
  Sha256 sum;
  for (const auto& sequence : sequences) {
    const auto length = static_cast<uint64_t>(sequence.size());
    sum.update(std::as_bytes(std::span(&length, 1))).update(std::as_bytes(std::span(sequence)));
  }
  return sum.hex();
}

Corpus load_corpus(
    const std::filesystem::path& path, LoadedModel& model, const CorpusLimits& options
) {
  require(options.max_tokens > 0, "max-tokens must be positive, found {}", options.max_tokens);
  require(options.max_length > 1, "max-length must be at least 2, found {}", options.max_length);
  std::vector<Entry> entries = path.extension() == ".jsonl" ? read_jsonl(path, model, options)
                                                            : read_text(path, model, options);
  answer(entries, model, options);
  const int64_t longest = std::min(options.max_length, model.model->config().max_positions);
  Corpus corpus;
  int64_t left = options.max_tokens;
  for (Entry& entry : entries) {
    const int64_t keep = std::min({static_cast<int64_t>(entry.ids.size()), longest, left});
    if (keep < 2) continue;
    entry.ids.resize(static_cast<size_t>(keep));
    left -= keep;
    corpus.sequences.push_back(std::move(entry.ids));
  }
  require(!corpus.sequences.empty(), "{}: no sequence of at least two tokens in it", path.string());
  return corpus;
}

}  // namespace hone
