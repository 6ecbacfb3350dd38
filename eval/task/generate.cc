#include "eval/task/generate.h"

#include <algorithm>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/progress.h"

namespace hone {
namespace {

bool blank(const Answer& answer) {
  return answer.text.find_first_not_of(" \t\r\n") == std::string::npos;
}

}  // namespace

std::vector<Answer> generate_answers(
    LoadedModel& model,
    const std::vector<std::vector<int32_t>>& prompts,
    const GenerateOptions& options
) {
  require(options.max_tokens > 0, "max-tokens {}: expected at least 1", options.max_tokens);
  std::vector<Request> requests;
  for (const std::vector<int32_t>& prompt : prompts) {
    Request request = model.request(prompt);
    request.sampling = SamplingParams{};
    request.max_tokens = options.max_tokens;
    requests.push_back(std::move(request));
  }
  Progress progress(options.label, static_cast<int64_t>(prompts.size()), "answers");
  int64_t reported = 0;
  Engine engine(*model.model, model.tokenizer, EngineOptions{.max_batch = options.max_batch});
  const auto completions = engine.generate(std::move(requests), [&](int64_t finished) {
    throw_if_cancelled();
    progress.advance(finished - reported);
    reported = finished;
  });
  progress.finish();
  std::vector<Answer> answers;
  for (const Completion& completion : completions)
    answers.push_back(
        {model.tokenizer->decode(completion.ids, false),
         completion.ids,
         completion.finish,
         completion.stop_id,
         completion.error}
    );
  return answers;
}

void add_output_rates(
    const std::vector<Answer>& reference, const std::vector<Answer>& candidate, TaskResult& task
) {
  const auto total = static_cast<int64_t>(reference.size());
  const auto count = [](const std::vector<Answer>& answers, auto&& test) {
    return static_cast<int64_t>(std::count_if(answers.begin(), answers.end(), test));
  };
  const auto add = [&](std::string key, std::string title, auto&& test) {
    task.rates.push_back(
        {std::move(key), std::move(title), count(reference, test), count(candidate, test), total}
    );
  };
  add("truncated", "Cut off by the token limit", [](const Answer& a) { return a.cut(); });
  add("failed", "Ended by the engine (NaN, repetition)", [](const Answer& a) { return a.failed(); }
  );
  add("empty", "Empty answer", blank);
  int64_t same = 0;
  for (size_t i = 0; i < reference.size(); ++i)
    same += reference[i].ids == candidate[i].ids ? 1 : 0;
  task.rates.push_back({"identical", "Same text as the reference", total, same, total});
}

Json answer_json(const Answer& answer) {
  Json out = {
      {"text", answer.text},
      {"tokens", answer.ids.size()},
      {"finish", std::string(finish_reason_name(answer.finish))}};
  if (!answer.error.empty()) out["error"] = answer.error;
  return out;
}

}  // namespace hone
