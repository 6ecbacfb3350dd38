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
  std::string raw_arguments;  // the object as written, braces included
};

// One <tool_call> block: the call, or why it is none.
struct ToolCallBlock {
  std::optional<ToolCall> call;
  std::string raw;  // text inside the tags
  // Set when `call` is empty: "not JSON: ...", "not an object", "no name", "no arguments",
  // "arguments are no JSON", "arguments are no object", "unclosed".
  std::string error;
};

struct ParsedAssistant {
  std::string content;  // text outside the blocks, trimmed
  std::vector<ToolCallBlock> blocks;
};

// Whole text. Never throws on model output. A closing tag inside a JSON string belongs to the
// string when the block then is JSON; otherwise it ends the block. A block that another one or the
// end of the text cuts off still counts when its JSON is complete. Arguments may also be called
// "parameters", or be a string that holds JSON.
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
  void scan_outside(std::vector<Event>& events, bool& waiting);
  void scan_inside(std::vector<Event>& events, bool& waiting);
  void scan_all(std::vector<Event>& events);
  void release(std::string_view text, std::vector<Event>& events);
  // The block is the first `size` bytes of the buffer; what follows it goes on after `skip` more.
  void end_block(size_t size, size_t skip, bool closed, std::vector<Event>& events);
  void begin_block();

  std::string buffer_;        // not yet released; inside a block, its body so far
  std::string space_;         // white space after the text released last
  size_t at_ = 0;             // inside: bytes of the body that were read
  size_t tag_in_string_ = 0;  // inside: first closing tag within a string; npos: none
  bool inside_ = false;
  bool in_string_ = false;
  bool broken_ = false;  // the body is no JSON: strings are not trusted any more
  bool released_ = false;
};

}  // namespace hone
