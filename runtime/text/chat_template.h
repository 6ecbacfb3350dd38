// Chat templates: the Jinja that Hugging Face templates use, through a real interpreter.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"

namespace hone {

// Inputs of a rendering.
struct ChatInput {
  Json messages = Json::array();  // [{"role", "content", "tool_calls", ...}]
  Json tools = Json::array();     // OpenAI tool list; empty: the template sees none
  bool add_generation_prompt = true;
  Json extra = Json::object();  // further variables (enable_thinking, ...)
  std::string date;             // strftime_now's answer, "YYYY-MM-DD"; empty: today
};

// A parsed template; render() may be called from several threads.
class ChatTemplate {
 public:
  // From chat_template.jinja or tokenizer_config.json's chat_template ("default" of a list; with
  // tools the entry "tool_use" where it exists). Throws DataError when there is none.
  static std::shared_ptr<const ChatTemplate> load(const std::filesystem::path& folder);
  // Throws DataError "<source>:<line>: ..." on syntax errors.
  static std::shared_ptr<const ChatTemplate> parse(
      std::string_view text, const std::string& source, const Json& special_tokens = Json::object()
  );
  ~ChatTemplate();

  // Throws DataError on undefined operations and on raise_exception (with its message). Output and
  // steps are limited.
  [[nodiscard]] std::string render(const ChatInput& input) const;
  // The template's text (for hashes).
  [[nodiscard]] const std::string& text() const;

 private:
  struct State;
  explicit ChatTemplate(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace hone
