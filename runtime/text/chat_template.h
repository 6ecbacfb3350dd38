// Chat templates: the Jinja that Hugging Face templates use, through a real interpreter.
//
// Text of messages and tools is data: it never becomes template code, and Rendering says where it
// stands in the output, so that it never becomes control tokens either.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/json/json.h"

namespace hone {

// Inputs of a rendering.
struct ChatInput {
  Json messages = Json::array();  // [{"role", "content", "tool_calls", ...}]
  Json tools = Json::array();     // OpenAI tool list; empty: the template sees none
  bool add_generation_prompt = true;
  Json extra = Json::object();  // further variables (enable_thinking, documents, ...)
  std::string date;  // strftime_now's answer, "YYYY-MM-DD[ HH:MM:SS]" (UTC); empty: today
};

// An output and what its bytes [first, second) are. Spans are ascending and disjoint.
struct Rendering {
  std::string text;
  // Bodies of {% generation %} blocks: what the assistant said. Empty when the template has none.
  std::vector<std::pair<size_t, size_t>> generation_spans;
  // Bytes that come from messages, tools and extra (EncodeOptions::plain_spans).
  std::vector<std::pair<size_t, size_t>> input_spans;
};

// A parsed template; rendering may be called from several threads.
class ChatTemplate {
 public:
  // From chat_template.jinja (and additional_chat_templates/tool_use.jinja beside it), else
  // tokenizer_config.json's chat_template, else chat_template.json. Of a list of templates,
  // "default", and with tools "tool_use" where it exists. Throws DataError when there is none.
  static std::shared_ptr<const ChatTemplate> load(const std::filesystem::path& folder);
  // Whether load() would find one.
  static bool exists(const std::filesystem::path& folder);
  // special_tokens: variables such as bos_token. Throws DataError "<source>:<line>: ..." on syntax
  // errors.
  static std::shared_ptr<const ChatTemplate> parse(
      std::string_view text, const std::string& source, const Json& special_tokens = Json::object()
  );
  ~ChatTemplate();

  // Throws DataError "<source>:<line>: ..." on undefined operations and on raise_exception (with
  // its message). Steps, nesting, memory and output are limited.
  [[nodiscard]] std::string render(const ChatInput& input) const;
  [[nodiscard]] Rendering render_with_spans(const ChatInput& input) const;
  // Whether the template marks what the assistant said with {% generation %}.
  [[nodiscard]] bool has_generation_blocks() const;
  // The template's text (for hashes).
  [[nodiscard]] const std::string& text() const;

 private:
  struct State;
  explicit ChatTemplate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone
