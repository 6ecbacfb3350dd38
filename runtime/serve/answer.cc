#include "runtime/serve/answer.h"

#include <numeric>

#include "core/json/json.h"
#include "runtime/serve/api_error.h"

namespace hone {
namespace {

// A collapse into one token ends with its own finish reason; the text so far is the client's.
constexpr std::string_view kRepetition = "repetition";

std::string sse(const std::string& data) {
  return "data: " + data + "\n\n";
}

std::vector<int> byte_values(const std::string& bytes) {
  std::vector<int> values;
  for (const char c : bytes) values.push_back(static_cast<unsigned char>(c));
  return values;
}

}  // namespace

GenerationAnswer::GenerationAnswer(
    AnswerContext context, const GenerationRequest& request, std::shared_ptr<Responder> responder
)
    : context_(std::move(context)),
      chat_(request.chat),
      stream_(request.stream),
      include_usage_(request.include_usage),
      parse_tools_(request.parse_tools),
      wants_logprobs_(request.choices.front().top_logprobs >= 0),
      seed_(request.seed),
      ignored_(request.ignored),
      prompt_tokens_(
          std::accumulate(request.prompt_tokens.begin(), request.prompt_tokens.end(), int64_t{0})
      ),
      responder_(std::move(responder)),
      choices_(request.choices.size()),
      left_(request.choices.size()) {}

Json GenerationAnswer::head(const char* object) const {
  Json body = Json::object();
  body["id"] = context_.id;
  body["object"] = object;
  body["created"] = context_.created;
  body["model"] = context_.model;
  body["system_fingerprint"] = context_.fingerprint;
  return body;
}

Json GenerationAnswer::usage() const {
  int64_t completion = 0;
  for (const Choice& choice : choices_) completion += choice.completion.stats.output_tokens;
  return {
      {"prompt_tokens", prompt_tokens_},
      {"completion_tokens", completion},
      {"total_tokens", prompt_tokens_ + completion}};
}

void GenerationAnswer::begin() {
  if (!stream_) return;
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.headers = {{"Cache-Control", "no-cache"}};
  for (const std::string& name : ignored_) response.headers.emplace_back("X-Hone-Ignored", name);
  responder_->start_stream(std::move(response));
  if (!chat_) return;
  for (size_t i = 0; i < choices_.size(); ++i) {
    send_delta(i, {{"role", "assistant"}, {"content", ""}}, nullptr);
  }
}

void GenerationAnswer::on_event(size_t index, const JobEvent& event) {
  Choice& choice = choices_[index];
  if (choice.done) return;
  if (!event.refused.empty()) {
    choice.done = true;
    fail(400, event.refused);
  } else {
    choice.text += event.text;
    if (event.done) choice.completion = *event.done;
    if (stream_ && !failed_) stream_text(index, choice, event.text, event.done.has_value());
    if (!event.done) return;
    choice.done = true;
    const FinishReason reason = event.done->finish;
    if (reason == FinishReason::kError && event.done->error_code != kRepetition) {
      fail(500, event.done->error);
    } else if (reason == FinishReason::kCancelled) {
      fail(503, "the server is stopping");
    } else {
      finish_choice(index, choice);
    }
  }
  if (--left_ == 0) respond();
}

void GenerationAnswer::stream_text(
    size_t index, Choice& choice, const std::string& text, bool last
) {
  if (chat_ && parse_tools_) {
    send_tool_events(index, choice, choice.tools.push(text));
    if (last) send_tool_events(index, choice, choice.tools.finish());
    return;
  }
  if (text.empty()) return;
  send_delta(index, {{"content", text}}, nullptr);
}

void GenerationAnswer::send_tool_events(
    size_t index, Choice& choice, const std::vector<HermesStream::Event>& events
) {
  for (const HermesStream::Event& event : events) {
    std::string content = event.content;
    if (event.call && !event.call->call) {
      // Not a call that anybody could make: the client sees what the model wrote.
      content += "<tool_call>" + event.call->raw + "</tool_call>";
    }
    if (!content.empty()) send_delta(index, {{"content", content}}, nullptr);
    if (event.call && event.call->call) {
      const size_t position = choice.calls.size();
      choice.calls.push_back(*event.call->call);
      Json call = tool_call_json(choice.calls.back(), index, position);
      call["index"] = position;
      send_delta(index, {{"tool_calls", Json::array({call})}}, nullptr);
    }
  }
}

Json GenerationAnswer::tool_call_json(const ToolCall& call, size_t index, size_t position) const {
  return {
      {"id",
       fmt::format(
           "call_{}_{}_{}", context_.id.substr(context_.id.find('-') + 1), index, position
       )},
      {"type", "function"},
      {"function",
       {{"name", call.name},
        {"arguments",
         call.raw_arguments.empty() ? dump_json(call.arguments) : call.raw_arguments}}}};
}

void GenerationAnswer::send_delta(size_t index, const Json& delta, const Json& finish_reason) {
  Json body = head(chat_ ? "chat.completion.chunk" : "text_completion");
  Json choice = {{"index", index}};
  if (chat_) {
    choice["delta"] = delta;
  } else {
    choice["text"] = delta.value("content", "");
  }
  choice["logprobs"] = nullptr;
  choice["finish_reason"] = finish_reason;
  body["choices"] = Json::array({choice});
  if (include_usage_) body["usage"] = nullptr;
  send_event(body);
}

void GenerationAnswer::send_event(const Json& body) {
  responder_->send(sse(dump_json(body)));
}

std::string GenerationAnswer::finish_reason(const Choice& choice) const {
  if (!choice.calls.empty()) return "tool_calls";
  if (choice.completion.error_code == kRepetition) return std::string(kRepetition);
  return choice.completion.finish == FinishReason::kLength ? "length" : "stop";
}

void GenerationAnswer::finish_choice(size_t index, Choice& choice) {
  if (!stream_) {
    choice.content = choice.text;
    if (!parse_tools_) return;
    const ParsedAssistant parsed = parse_hermes_tool_calls(choice.text);
    choice.content = parsed.content;
    for (const ToolCallBlock& block : parsed.blocks) {
      if (block.call) {
        choice.calls.push_back(*block.call);
      } else {
        choice.content += "<tool_call>" + block.raw + "</tool_call>";
      }
    }
    return;
  }
  if (failed_) return;
  Json body = head(chat_ ? "chat.completion.chunk" : "text_completion");
  Json last = {{"index", index}};
  if (chat_) {
    last["delta"] = Json::object();
  } else {
    last["text"] = "";
  }
  last["logprobs"] = nullptr;
  if (wants_logprobs_) {
    last["logprobs"] = chat_ ? chat_logprobs(choice.completion.logprobs)
                             : text_logprobs(choice.completion.logprobs);
  }
  last["finish_reason"] = finish_reason(choice);
  body["choices"] = Json::array({last});
  body["seed"] = seed_;
  if (include_usage_) body["usage"] = nullptr;
  send_event(body);
}

Json GenerationAnswer::chat_logprobs(const std::vector<TokenLogprob>& logprobs) const {
  const auto entry = [&](int32_t id, float logprob) {
    const std::string bytes = context_.tokenizer->token_bytes(id);
    return Json{{"token", bytes}, {"logprob", logprob}, {"bytes", byte_values(bytes)}};
  };
  Json content = Json::array();
  for (const TokenLogprob& token : logprobs) {
    Json item = entry(token.id, token.logprob);
    item["top_logprobs"] = Json::array();
    for (const auto& [id, logprob] : token.top) item["top_logprobs"].push_back(entry(id, logprob));
    content.push_back(std::move(item));
  }
  return {{"content", content}, {"refusal", nullptr}};
}

Json GenerationAnswer::text_logprobs(const std::vector<TokenLogprob>& logprobs) const {
  Json result = {
      {"tokens", Json::array()},
      {"token_logprobs", Json::array()},
      {"top_logprobs", Json::array()},
      {"text_offset", Json::array()}};
  size_t offset = 0;
  for (const TokenLogprob& token : logprobs) {
    const std::string bytes = context_.tokenizer->token_bytes(token.id);
    Json top = Json::object();
    for (const auto& [id, logprob] : token.top) {
      top[context_.tokenizer->token_bytes(id)] = logprob;
    }
    result["tokens"].push_back(bytes);
    result["token_logprobs"].push_back(token.logprob);
    result["top_logprobs"].push_back(std::move(top));
    result["text_offset"].push_back(offset);
    offset += bytes.size();
  }
  return result;
}

void GenerationAnswer::respond() {
  if (stream_) {
    if (include_usage_ && !failed_) {
      Json body = head(chat_ ? "chat.completion.chunk" : "text_completion");
      body["choices"] = Json::array();
      body["usage"] = usage();
      send_event(body);
    }
    responder_->send(sse("[DONE]"));
    responder_->finish();
    return;
  }
  if (failed_) return;
  Json body = head(chat_ ? "chat.completion" : "text_completion");
  body["choices"] = Json::array();
  for (size_t i = 0; i < choices_.size(); ++i) {
    const Choice& choice = choices_[i];
    Json item = {{"index", i}};
    if (chat_) {
      Json message = {{"role", "assistant"}, {"content", choice.content}, {"refusal", nullptr}};
      if (!choice.calls.empty()) {
        if (choice.content.empty()) message["content"] = nullptr;
        message["tool_calls"] = Json::array();
        for (size_t c = 0; c < choice.calls.size(); ++c) {
          message["tool_calls"].push_back(tool_call_json(choice.calls[c], i, c));
        }
      }
      item["message"] = std::move(message);
    } else {
      item["text"] = choice.content;
    }
    item["logprobs"] = nullptr;
    if (wants_logprobs_) {
      item["logprobs"] = chat_ ? chat_logprobs(choice.completion.logprobs)
                               : text_logprobs(choice.completion.logprobs);
    }
    item["finish_reason"] = finish_reason(choice);
    body["choices"].push_back(std::move(item));
  }
  body["usage"] = usage();
  body["seed"] = seed_;
  HttpResponse response;
  response.body = dump_json(body);
  for (const std::string& name : ignored_) response.headers.emplace_back("X-Hone-Ignored", name);
  responder_->respond(std::move(response));
}

void GenerationAnswer::fail(int status, const std::string& message) {
  if (failed_) return;
  failed_ = true;
  status_ = status;
  const ApiError error(status, message);
  if (stream_) {
    responder_->send(sse(error.body()));
  } else {
    responder_->respond(error.response());
  }
}

}  // namespace hone
