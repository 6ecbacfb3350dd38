#include "eval/task/corpus.h"

#include <algorithm>

#include "core/base/error.h"
#include "core/base/file.h"
#include "eval/task/generate.h"

namespace hone {
namespace {

struct Pending {
  size_t document = 0;
  std::vector<int32_t> prompt;
};

// Reads documents one after the other; prompts that need an answer are answered together at the
// end.
class CorpusReader {
 public:
  CorpusReader(const ModelPair& models, const CorpusOptions& options)
      : models_(models), options_(options) {}

  void add_line(const Json& line, const std::string& source) {
    require_data(line.is_object(), "{}: expected an object with \"messages\" or \"text\"", source);
    if (line.contains("messages")) {
      add_chat(line, source);
    } else {
      add_text(json_string(line, "text", source), source);
    }
  }

  void add_text(const std::string& text, const std::string& source) {
    const auto ids = models_.reference.encode_text(text);
    if (!agree(ids, models_.candidate.encode_text(text), source)) return;
    const int64_t window = std::min(options_.window, context());
    for (size_t begin = 0; begin < ids.size(); begin += static_cast<size_t>(window)) {
      const size_t end = std::min(ids.size(), begin + static_cast<size_t>(window));
      if (end - begin < 2) break;
      const auto at = ids.begin();
      TeacherDocument document;
      document.ids.assign(at + static_cast<int64_t>(begin), at + static_cast<int64_t>(end));
      corpus_.documents.push_back(std::move(document));
    }
  }

  TeacherCorpus finish() {
    if (corpus_.mismatch.empty() && !pending_.empty()) answer_pending();
    return std::move(corpus_);
  }

  [[nodiscard]] bool mismatch() const { return !corpus_.mismatch.empty(); }

 private:
  [[nodiscard]] int64_t context() const {
    return std::min(
        models_.reference.model->config().max_positions,
        models_.candidate.model->config().max_positions
    );
  }

  bool agree(
      std::span<const int32_t> reference,
      std::span<const int32_t> candidate,
      const std::string& source
  ) {
    const std::string difference = describe_mismatch(reference, candidate, models_);
    if (difference.empty()) return true;
    corpus_.mismatch = fmt::format(
        "the texts are read differently, {}: {}; the candidate's tokenizer or chat template is not "
        "the reference's",
        source,
        difference
    );
    return false;
  }

  // Ids of a conversation when both models agree on them; empty otherwise.
  std::vector<int32_t> encode(const ChatInput& input, const std::string& source) {
    auto ids = models_.reference.encode_chat(input);
    if (!agree(ids, models_.candidate.encode_chat(input), source)) ids.clear();
    return ids;
  }

  void check_length(size_t tokens, const std::string& source) const {
    require_data(
        static_cast<int64_t>(tokens) <= context(),
        "{}: {} tokens, the context holds {}; remove it or use --limit",
        source,
        tokens,
        context()
    );
  }

  void add_chat(const Json& line, const std::string& source) {
    ChatInput input;
    input.messages = line.at("messages");
    require_data(
        input.messages.is_array() && !input.messages.empty() && input.messages.back().is_object(),
        "{}: field \"messages\" is no list of messages",
        source
    );
    if (line.contains("tools") && line.at("tools").is_array()) input.tools = line.at("tools");
    const Json last = input.messages.back();
    if (json_string_or(last, "role", "", source) != "assistant") {
      auto prompt = encode(input, source);
      if (prompt.empty()) return;
      check_length(prompt.size() + 1, source);
      pending_.push_back({corpus_.documents.size(), std::move(prompt)});
      corpus_.documents.emplace_back();
      return;
    }
    input.add_generation_prompt = false;
    TeacherDocument document;
    document.ids = encode(input, source);
    input.messages.erase(input.messages.size() - 1);
    input.add_generation_prompt = true;
    const auto prompt = input.messages.empty() ? std::vector<int32_t>{} : encode(input, source);
    if (document.ids.empty()) return;
    check_length(document.ids.size(), source);
    // Templates may rewrite history, so the answer begins where the renderings part.
    const auto parted =
        std::mismatch(document.ids.begin(), document.ids.end(), prompt.begin(), prompt.end());
    document.scored_from = std::max<int64_t>(1, parted.first - document.ids.begin());
    corpus_.documents.push_back(std::move(document));
  }

  void answer_pending() {
    std::vector<std::vector<int32_t>> prompts;
    for (const Pending& pending : pending_) prompts.push_back(pending.prompt);
    const auto answers = generate_answers(
        models_.reference,
        prompts,
        {.max_tokens = options_.max_tokens, .label = "kl, reference's answers"}
    );
    for (size_t i = 0; i < pending_.size(); ++i) {
      TeacherDocument& document = corpus_.documents[pending_[i].document];
      document.ids = std::move(pending_[i].prompt);
      document.scored_from = static_cast<int64_t>(document.ids.size());
      document.ids.insert(document.ids.end(), answers[i].ids.begin(), answers[i].ids.end());
      if (answers[i].stop_id >= 0) document.ids.push_back(answers[i].stop_id);
    }
  }

  ModelPair models_;
  const CorpusOptions& options_;
  TeacherCorpus corpus_;
  std::vector<Pending> pending_;
};

}  // namespace

TeacherCorpus read_corpus(const ModelPair& models, const CorpusOptions& options) {
  require(options.skip >= 0, "kl-skip {}: expected 0 or more", options.skip);
  require(options.window >= 2, "kl window of {} tokens: at least 2", options.window);
  CorpusReader reader(models, options);
  int64_t lines = 1;
  if (options.data.extension() == ".jsonl") {
    const int64_t last = options.limit > 0 ? options.skip + options.limit : 0;
    const std::vector<Json> items = read_items(options.data, last);
    lines = static_cast<int64_t>(items.size()) - options.skip;
    require_data(
        lines > 0,
        "{}: {} lines, all skipped (kl-skip {})",
        options.data.string(),
        items.size(),
        options.skip
    );
    for (auto i = static_cast<size_t>(options.skip); i < items.size() && !reader.mismatch(); ++i)
      reader.add_line(items[i], fmt::format("item {} of {}", i, options.data.filename().string()));
  } else {
    reader.add_text(read_text_file(options.data), options.data.filename().string());
  }
  TeacherCorpus corpus = reader.finish();
  if (options.limit > 0 && static_cast<size_t>(options.limit) < corpus.documents.size())
    corpus.documents.resize(static_cast<size_t>(options.limit));
  corpus.data = describe_data(options.data, lines);
  return corpus;
}

}  // namespace hone
