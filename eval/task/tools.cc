#include "eval/task/tools.h"

#include "core/base/error.h"

namespace hone {
namespace {

// Positions in TaskResult::metrics.
enum Metric : size_t { kDecision, kJson, kSchema, kTools, kExact, kNoCall };

TaskResult empty_result() {
  TaskResult task;
  task.key = "tools";
  task.title = "Tool calls";
  task.description =
      "Greedy, unconstrained, tools in the chat template. Rates over the items where a call is "
      "right, except where said.";
  task.metrics = {
      {.key = "decision",
       .title = "Call decision right",
       .definition = "All items: a call is made exactly when one is right."},
      {.key = "json_valid",
       .title = "JSON valid",
       .definition = "At least one call, and every block holds a name and arguments."},
      {.key = "schema_valid",
       .title = "Schema valid",
       .definition = "Every call names an offered tool and its arguments satisfy the schema "
                     "(required present, no unknown keys, types, enums)."},
      {.key = "right_tools",
       .title = "Right tools",
       .definition = "The list of names equals the expected list."},
      {.key = "exact",
       .title = "Exact arguments",
       .definition = "The list of calls equals the expected list."},
      {.key = "no_call",
       .title = "No call where none is right",
       .definition = "Items where no call is right; part of \"Call decision right\".",
       .decides = false}};
  return task;
}

Json score_json(const ToolScore& score) {
  return {
      {"called", score.called},
      {"json_valid", score.json_valid},
      {"schema_valid", score.schema_valid},
      {"right_tools", score.right_tools},
      {"exact", score.exact},
      {"decision_right", score.decision_right},
      {"unoffered", score.unoffered},
      {"invented_result", score.invented_result},
      {"cause", score.cause}};
}

Json expected_json(const ToolItem& item) {
  Json out = Json::array();
  for (const ExpectedCall& call : item.expected)
    out.push_back({{"name", call.name}, {"arguments", call.arguments}});
  return out;
}

void add_metrics(
    int64_t item, bool call_right, const ToolScore& a, const ToolScore& b, TaskResult& task
) {
  task.metrics[kDecision].add(item, a.decision_right, b.decision_right);
  if (!call_right) {
    task.metrics[kNoCall].add(item, !a.called, !b.called);
    return;
  }
  task.metrics[kJson].add(item, a.json_valid, b.json_valid);
  task.metrics[kSchema].add(item, a.schema_valid, b.schema_valid);
  task.metrics[kTools].add(item, a.right_tools, b.right_tools);
  task.metrics[kExact].add(item, a.exact, b.exact);
}

}  // namespace

std::vector<ToolItem> read_tool_items(const std::filesystem::path& path, int64_t limit) {
  std::vector<ToolItem> items;
  for (const Json& line : read_items(path, limit)) {
    const std::string source = fmt::format("item {} of {}", items.size(), path.string());
    ToolItem item;
    for (const char* key : {"messages", "tools", "expected"})
      require_data(
          line.is_object() && line.contains(key) && line.at(key).is_array(),
          "{}: field \"{}\" is missing or no list",
          source,
          key
      );
    item.messages = line.at("messages");
    item.tools = line.at("tools");
    for (const Json& call : line.at("expected")) {
      require_data(
          call.is_object() && call.contains("arguments") && call.at("arguments").is_object(),
          "{}: field \"expected\" has a call without an object of arguments",
          source
      );
      item.expected.push_back({json_string(call, "name", source), call.at("arguments")});
    }
    items.push_back(std::move(item));
  }
  return items;
}

TaskResult score_tools(
    const std::vector<ToolItem>& items,
    const std::vector<Answer>& reference,
    const std::vector<Answer>& candidate
) {
  check(
      items.size() == reference.size() && items.size() == candidate.size(),
      "{} requests, {} and {} answers",
      items.size(),
      reference.size(),
      candidate.size()
  );
  TaskResult task = empty_result();
  RatePair unoffered{.key = "unoffered", .title = "Calls a tool that is not offered"};
  RatePair invented{.key = "invented_result", .title = "Invents a tool's answer"};
  for (size_t i = 0; i < items.size(); ++i) {
    const OfferedTools offered(items[i].tools, fmt::format("tools item {}", i));
    const ToolScore a = score_tool_calls(reference[i].text, offered, items[i].expected);
    const ToolScore b = score_tool_calls(candidate[i].text, offered, items[i].expected);
    add_metrics(static_cast<int64_t>(i), !items[i].expected.empty(), a, b, task);
    unoffered.reference += a.unoffered ? 1 : 0;
    unoffered.candidate += b.unoffered ? 1 : 0;
    invented.reference += a.invented_result ? 1 : 0;
    invented.candidate += b.invented_result ? 1 : 0;
    Json left = answer_json(reference[i]);
    left["score"] = score_json(a);
    Json right = answer_json(candidate[i]);
    right["score"] = score_json(b);
    task.samples.push_back(
        {{"task", task.key},
         {"item", i},
         {"prompt", items[i].messages},
         {"expected", expected_json(items[i])},
         {"reference", std::move(left)},
         {"candidate", std::move(right)}}
    );
  }
  add_output_rates(reference, candidate, task);
  unoffered.total = invented.total = static_cast<int64_t>(items.size());
  task.rates.push_back(unoffered);
  task.rates.push_back(invented);
  return task;
}

TaskResult run_tools(const ModelPair& models, const ToolsOptions& options) {
  const std::vector<ToolItem> items = read_tool_items(options.data, options.limit);
  std::vector<ChatInput> inputs;
  for (const ToolItem& item : items) {
    ChatInput input;
    input.messages = item.messages;
    input.tools = item.tools;
    inputs.push_back(std::move(input));
  }
  const DataSource data = describe_data(options.data, static_cast<int64_t>(items.size()));
  const PairedPrompts prompts = encode_for_both(models, inputs, data.name);
  TaskResult task = empty_result();
  if (prompts.mismatch.empty()) {
    GenerateOptions generate{.max_tokens = options.max_tokens, .label = "tools, reference"};
    const auto reference = generate_answers(models.reference, prompts.ids, generate);
    generate.label = "tools, candidate";
    task = score_tools(items, reference, generate_answers(models.candidate, prompts.ids, generate));
  }
  task.invalid = prompts.mismatch;
  task.data = data;
  return task;
}

}  // namespace hone
