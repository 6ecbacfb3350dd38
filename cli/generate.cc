#include "cli/generate.h"

#include <iostream>
#include <iterator>
#include <memory>

#include "cli/bind.h"
#include "cli/text_engine.h"
#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/log.h"
#include "core/json/json.h"
#include "runtime/text/tool_calls.h"

namespace hone {
namespace {

struct GenerateArguments {
  TextFlags text;
  std::string prompt;
  std::string messages;
  std::string system;
  bool raw = false;
  bool ignore_end = false;
  int logprobs = -1;
};

std::string read_stdin() {
  return {std::istreambuf_iterator<char>(std::cin), std::istreambuf_iterator<char>()};
}

// {"messages": [...], "tools": [...]} or the bare list of messages.
ChatInput read_messages(const std::string& path) {
  const Json document = parse_json(
      path == "-" ? read_stdin() : read_text_file(path), path == "-" ? "standard input" : path
  );
  ChatInput input;
  if (document.is_array()) {
    input.messages = document;
    return input;
  }
  require_data(
      document.is_object() && document.contains("messages") && document.at("messages").is_array(),
      "{}: expected a list of messages, or an object with \"messages\" and perhaps \"tools\"",
      path
  );
  input.messages = document.at("messages");
  const auto tools = document.find("tools");
  if (tools != document.end() && !tools->is_null()) {
    require_data(tools->is_array(), "{}: field \"tools\" is no list", path);
    input.tools = *tools;
  }
  return input;
}

// Before the model is loaded, which may take minutes.
void check_arguments(const GenerateArguments& a) {
  require(
      a.prompt.empty() != a.messages.empty(),
      "give either --prompt TEXT or --messages FILE (- reads standard input)"
  );
  require(
      a.messages.empty() || (!a.raw && a.system.empty()),
      "--raw and --system go with --prompt; --messages holds the whole conversation"
  );
  require(!a.raw || a.system.empty(), "--raw leaves the chat template out, so --system is lost");
}

std::vector<int32_t> read_prompt(const GenerateArguments& a, const LoadedModel& model) {
  if (!a.messages.empty()) return model.encode_chat(read_messages(a.messages));
  const std::string prompt = a.prompt == "-" ? read_stdin() : a.prompt;
  if (a.raw) return model.encode_text(prompt);
  ChatInput input;
  if (!a.system.empty()) input.messages.push_back({{"role", "system"}, {"content", a.system}});
  input.messages.push_back({{"role", "user"}, {"content", prompt}});
  return model.encode_chat(input);
}

Json logprobs_json(const Completion& completion, const LoadedModel& model) {
  Json list = Json::array();
  for (const TokenLogprob& entry : completion.logprobs) {
    Json top = Json::array();
    for (const auto& [id, value] : entry.top)
      top.push_back({{"id", id}, {"token", model.tokenizer->token_bytes(id)}, {"logprob", value}});
    list.push_back(
        {{"id", entry.id},
         {"token", model.tokenizer->token_bytes(entry.id)},
         {"logprob", entry.logprob},
         {"top", std::move(top)}}
    );
  }
  return list;
}

Json tool_calls_json(const std::string& text) {
  Json list = Json::array();
  for (const ToolCallBlock& block : parse_hermes_tool_calls(text).blocks) {
    if (block.call) {
      list.push_back({{"name", block.call->name}, {"arguments", block.call->arguments}});
    } else {
      list.push_back({{"error", block.error}, {"raw", block.raw}});
    }
  }
  return list;
}

Json to_json(
    const GenerateArguments& a,
    const Request& request,
    const Completion& completion,
    const TextEngine& engine
) {
  const RequestStats& stats = completion.stats;
  Json result = {
      {"model", a.text.model},
      {"profile", a.text.profile},
      {"text", completion.text},
      {"finish_reason", finish_reason_name(completion.finish)},
      {"prompt_ids", request.prompt},
      {"ids", completion.ids},
      {"seed", request.sampling.seed},
      {"temperature", request.sampling.temperature},
      {"prompt_tokens", stats.prompt_tokens},
      {"output_tokens", stats.output_tokens},
      {"verifications", stats.verifications},
      {"first_token_seconds", stats.first_token_seconds},
      {"total_seconds", stats.total_seconds}};
  if (completion.finish == FinishReason::kError) {
    result["error_code"] = completion.error_code;
    result["error"] = completion.error;
  }
  const Json calls = tool_calls_json(completion.text);
  if (!calls.empty()) result["tool_calls"] = calls;
  if (a.logprobs >= 0) result["logprobs"] = logprobs_json(completion, engine.model());
  if (engine.drafts()) {
    result["acceptance_length"] = stats.acceptance_length();
    result["drafted_at"] = stats.drafted_at;
    result["accepted_at"] = stats.accepted_at;
  }
  return result;
}

void generate(const GenerateArguments& a) {
  const bool json = global_options().json;
  check_arguments(a);
  TextEngine engine(a.text);
  Request request = engine.request(read_prompt(a, engine.model()));
  request.ignore_stop_ids = a.ignore_end;
  request.top_logprobs = a.logprobs;
  const Completion completion = engine.run(request, [json](std::string_view text) {
    if (!json) std::cout << text << std::flush;
  });
  if (json) {
    std::cout << dump_json(to_json(a, request, completion, engine)) << '\n';
  } else {
    std::cout << '\n';
    if (request.sampling.temperature > 0.0F) log_info("seed {}", request.sampling.seed);
    log_info("{}", describe(completion, engine.drafts()));
  }
  if (completion.finish == FinishReason::kCancelled) throw_if_cancelled();
  if (completion.finish == FinishReason::kError)
    throw DataError(fmt::format("{}: {}", completion.error_code, completion.error));
}

}  // namespace

void add_generate(CLI::App& app) {
  auto a = std::make_shared<GenerateArguments>();
  CLI::App* command = app.add_subcommand("generate", "Generate one text from a prompt");
  add_text_flags(*command, a->text);
  command->add_option("-p,--prompt", a->prompt, "What the user says; - reads standard input");
  command->add_option(
      "--messages", a->messages, "JSON file with messages (and tools); - reads standard input"
  );
  command->add_option("--system", a->system, "System message before --prompt");
  command->add_flag("--raw", a->raw, "Take --prompt as it is, without the chat template");
  command->add_flag("--ignore-end", a->ignore_end, "Go on after end tokens, up to --max-tokens");
  command->add_option("--logprobs", a->logprobs, "With --json: log-probabilities and the top n")
      ->check(CLI::Range(0, 100));
  command->footer(examples(
      {"hone generate recipes/demo --prompt \"Tom has 3 boxes with 4 pens each. How many pens?\"",
       "hone generate MODEL --messages chat.json --temperature 0.7 --seed 1 --json"}
  ));
  command->callback([a] { generate(*a); });
}

}  // namespace hone
