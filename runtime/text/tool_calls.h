// Tool calls in generated text (Hermes / Qwen form:
// <tool_call>{"name":..,"arguments":..}</tool_call>).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/json/json.h"

namespace hone {

// One call as the model wrote it.
struct ToolCall {
  std::string name;
  Json arguments;             // an object
  std::string raw_arguments;  // the text between the braces, as written
};

// One <tool_call> block: the call, or why it is none.
struct ToolCallBlock {
  std::optional<ToolCall> call;
  std::string raw;    // text inside the tags
  std::string error;  // set when `call` is empty: "not JSON: ...", "no name", "unclosed"
};

struct ParsedAssistant {
  std::string content;  // text outside the blocks, trimmed
  std::vector<ToolCallBlock> blocks;
};

// Whole text. Never throws on model output.
ParsedAssistant parse_hermes_tool_calls(std::string_view text);

// The same while text arrives: content is released as soon as it cannot be the start of a tag, or
// white space before one. Joined, the events of any split of a text equal the parse of the whole.
class HermesStream {
 public:
  struct Event {
    std::string content;                // new plain text, may be empty
    std::optional<ToolCallBlock> call;  // a block that was completed
  };
  std::vector<Event> push(std::string_view text);
  std::vector<Event> finish();

 private:
  void release(std::string_view text, std::vector<Event>& events);
  std::string buffer_;
  std::string space_;  // after the text released last
  bool inside_ = false;
  bool released_ = false;
};

}  // namespace hone
