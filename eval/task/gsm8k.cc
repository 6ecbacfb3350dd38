#include "eval/task/gsm8k.h"

#include "core/base/error.h"
#include "eval/metric/gsm8k.h"

namespace hone {
namespace {

Json score_json(const AnswerScore& score) {
  return {
      {"answer", score.answer ? Json(*score.answer) : Json()},
      {"right", score.right},
      {"cause", std::string(answer_cause_name(score.cause))},
      {"strict", score.strict_right},
      {"flexible", score.flexible_right}};
}

TaskResult empty_result() {
  TaskResult task;
  task.key = "gsm8k";
  task.title = "Math word problems (GSM8K format)";
  task.description =
      "Zero-shot chat, greedy. The final answer is the number after \"####\", else in \\boxed{}, "
      "else the last number.";
  task.metrics = {
      {.key = "accuracy",
       .title = "Final answer right",
       .definition = "The final answer equals the target as a number."},
      {.key = "strict",
       .title = "lm-eval strict-match",
       .definition = "As lm-evaluation-harness: the first \"#### number\", compared as text.",
       .decides = false},
      {.key = "flexible",
       .title = "lm-eval flexible-extract",
       .definition = "As lm-evaluation-harness: the last number of the output, compared as text.",
       .decides = false}};
  return task;
}

}  // namespace

std::vector<MathItem> read_math_items(const std::filesystem::path& path, int64_t limit) {
  std::vector<MathItem> items;
  for (const Json& line : read_items(path, limit)) {
    const std::string source = fmt::format("item {} of {}", items.size(), path.string());
    items.push_back({json_string(line, "question", source), json_string(line, "answer", source)});
  }
  return items;
}

TaskResult score_gsm8k(
    const std::vector<MathItem>& items,
    const std::vector<Answer>& reference,
    const std::vector<Answer>& candidate
) {
  check(
      items.size() == reference.size() && items.size() == candidate.size(),
      "{} problems, {} and {} answers",
      items.size(),
      reference.size(),
      candidate.size()
  );
  TaskResult task = empty_result();
  RatePair no_answer{.key = "no_answer", .title = "No number in the answer"};
  RatePair disagreement{.key = "extractors_disagree", .title = "Extractors disagree"};
  for (size_t i = 0; i < items.size(); ++i) {
    const std::string source = fmt::format("math item {}", i);
    const auto score = [&](const Answer& answer) {
      return score_answer(answer.text, {answer.cut(), answer.failed()}, items[i].answer, source);
    };
    const AnswerScore a = score(reference[i]);
    const AnswerScore b = score(candidate[i]);
    const auto item = static_cast<int64_t>(i);
    task.metrics[0].add(item, a.right, b.right);
    task.metrics[1].add(item, a.strict_right, b.strict_right);
    task.metrics[2].add(item, a.flexible_right, b.flexible_right);
    no_answer.reference += a.answer ? 0 : 1;
    no_answer.candidate += b.answer ? 0 : 1;
    disagreement.reference += a.right != a.strict_right || a.right != a.flexible_right ? 1 : 0;
    disagreement.candidate += b.right != b.strict_right || b.right != b.flexible_right ? 1 : 0;
    Json left = answer_json(reference[i]);
    left["score"] = score_json(a);
    Json right = answer_json(candidate[i]);
    right["score"] = score_json(b);
    task.samples.push_back(
        {{"task", task.key},
         {"item", i},
         {"prompt", items[i].question},
         {"expected", items[i].answer},
         {"reference", std::move(left)},
         {"candidate", std::move(right)}}
    );
  }
  add_output_rates(reference, candidate, task);
  no_answer.total = disagreement.total = static_cast<int64_t>(items.size());
  task.rates.push_back(no_answer);
  task.rates.push_back(disagreement);
  return task;
}

TaskResult run_gsm8k(const ModelPair& models, const Gsm8kOptions& options) {
  std::vector<MathItem> items = read_math_items(options.data, options.limit);
  std::vector<ChatInput> inputs;
  for (MathItem& item : items) {
    if (!options.instruction.empty()) item.question += "\n\n" + options.instruction;
    ChatInput input;
    input.messages = Json::array({{{"role", "user"}, {"content", item.question}}});
    inputs.push_back(std::move(input));
  }
  const DataSource data = describe_data(options.data, static_cast<int64_t>(items.size()));
  const PairedPrompts prompts = encode_for_both(models, inputs, data.name);
  TaskResult task = empty_result();
  if (prompts.mismatch.empty()) {
    GenerateOptions generate{.max_tokens = options.max_tokens, .label = "gsm8k, reference"};
    const auto reference = generate_answers(models.reference, prompts.ids, generate);
    generate.label = "gsm8k, candidate";
    task = score_gsm8k(items, reference, generate_answers(models.candidate, prompts.ids, generate));
  }
  task.invalid = prompts.mismatch;
  task.data = data;
  return task;
}

}  // namespace hone
