// One request's answer: collects the events of its choices and writes the OpenAI body or stream.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/engine/loaded_model.h"
#include "runtime/serve/engine_worker.h"
#include "runtime/serve/generation_request.h"
#include "runtime/serve/http.h"
#include "runtime/text/tool_calls.h"

namespace hone {

// What an answer needs to know of the request and the server.
struct AnswerContext {
  std::string id;     // "chatcmpl-..."
  std::string model;  // name to report
  std::string fingerprint;
  int64_t created = 0;  // seconds since 1970
  std::shared_ptr<const Tokenizer> tokenizer;
};

// Thread rule: on_event() comes from the engine's thread, one event at a time.
class GenerationAnswer {
 public:
  GenerationAnswer(
      AnswerContext context, const GenerationRequest& request, std::shared_ptr<Responder> responder
  );

  // Sends the head of a stream; nothing for plain answers. Before the first event.
  void begin();
  void on_event(size_t choice, const JobEvent& event);
  // All choices have ended (the answer is sent).
  [[nodiscard]] bool complete() const { return left_ == 0; }
  // HTTP status of the answer, once complete.
  [[nodiscard]] int status() const { return status_; }

 private:
  struct Choice {
    std::string text;
    Completion completion;
    HermesStream tools;
    std::vector<ToolCall> calls;  // in the order of the text
    std::string content;          // text outside of calls
    bool done = false;
  };

  void stream_text(size_t index, Choice& choice, const std::string& text, bool last);
  void send_tool_events(
      size_t index, Choice& choice, const std::vector<HermesStream::Event>& events
  );
  void send_delta(size_t index, const Json& delta, const Json& finish_reason);
  void send_event(const Json& body);
  void finish_choice(size_t index, Choice& choice);
  void respond();
  void fail(int status, const std::string& message);
  [[nodiscard]] std::string finish_reason(const Choice& choice) const;
  [[nodiscard]] Json head(const char* object) const;
  [[nodiscard]] Json usage() const;
  [[nodiscard]] Json chat_logprobs(const std::vector<TokenLogprob>& logprobs) const;
  [[nodiscard]] Json text_logprobs(const std::vector<TokenLogprob>& logprobs) const;
  [[nodiscard]] Json tool_call_json(const ToolCall& call, size_t index, size_t position) const;

  AnswerContext context_;
  bool chat_;
  bool stream_;
  bool include_usage_;
  bool parse_tools_;
  bool wants_logprobs_;
  uint64_t seed_;
  std::vector<std::string> ignored_;
  int64_t prompt_tokens_ = 0;
  std::shared_ptr<Responder> responder_;
  std::vector<Choice> choices_;
  size_t left_;
  int status_ = 200;
  bool failed_ = false;
};

}  // namespace hone
