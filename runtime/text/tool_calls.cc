#include "runtime/text/tool_calls.h"

#include <algorithm>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr std::string_view kOpen = "<tool_call>";
constexpr std::string_view kClose = "</tool_call>";
constexpr std::string_view kSpace = " \t\r\n";

std::string_view trim(std::string_view text) {
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(kSpace) - begin + 1);
}

// End of the JSON value that starts at `begin`: just behind it, or npos when it does not end.
size_t value_end(std::string_view text, size_t begin) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      if (c == '\\') {
        ++i;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      if (--depth <= 0) return i + 1;
    }
  }
  return std::string_view::npos;
}

// The text of the top-level value of `key`, as written; empty when it is not found.
std::string_view raw_value(std::string_view object, std::string_view key) {
  const std::string quoted = "\"" + std::string(key) + "\"";
  int depth = 0;
  for (size_t i = 0; i < object.size(); ++i) {
    const char c = object[i];
    if (c == '{' || c == '[') {
      ++depth;
    } else if (c == '}' || c == ']') {
      --depth;
    } else if (c == '"') {
      size_t end = i + 1;
      while (end < object.size() && object[end] != '"') end += object[end] == '\\' ? 2 : 1;
      const size_t after = object.find_first_not_of(kSpace, end + 1);
      const bool is_key = after != std::string_view::npos && object[after] == ':';
      if (depth == 1 && is_key && object.substr(i, end + 1 - i) == quoted) {
        const size_t begin = object.find_first_not_of(kSpace, after + 1);
        if (begin == std::string_view::npos || (object[begin] != '{' && object[begin] != '[')) {
          return {};
        }
        const size_t stop = value_end(object, begin);
        return stop == std::string_view::npos ? std::string_view{}
                                              : object.substr(begin, stop - begin);
      }
      i = end;
    }
  }
  return {};
}

ToolCallBlock parse_block(std::string_view raw) {
  ToolCallBlock block;
  block.raw = raw;
  const std::string_view text = trim(raw);
  Json document;
  try {
    document = parse_json(text, "tool call");
  } catch (const Error& e) {
    block.error = std::string("not JSON: ") + e.what();
    return block;
  }
  if (!document.is_object()) {
    block.error = "not an object";
    return block;
  }
  auto name = document.find("name");
  if (name == document.end() || !name->is_string() || name->get<std::string>().empty()) {
    block.error = "no name";
    return block;
  }
  auto arguments = document.find("arguments");
  if (arguments == document.end()) arguments = document.find("parameters");
  if (arguments == document.end()) {
    block.error = "no arguments";
    return block;
  }
  ToolCall call;
  call.name = name->get<std::string>();
  if (arguments->is_string()) {
    // Some models write the arguments as a string that holds JSON.
    call.raw_arguments = arguments->get<std::string>();
    try {
      call.arguments = parse_json(call.raw_arguments, "arguments");
    } catch (const Error&) {
      block.error = "arguments are no JSON";
      return block;
    }
  } else {
    call.arguments = *arguments;
    call.raw_arguments = raw_value(text, arguments.key());
    if (call.raw_arguments.empty()) call.raw_arguments = dump_json(call.arguments);
  }
  if (!call.arguments.is_object()) {
    block.error = "arguments are no object";
    return block;
  }
  block.call = std::move(call);
  return block;
}

// How many characters at the end of `text` may be the beginning of `tag`.
size_t partial_tag(std::string_view text, std::string_view tag) {
  for (size_t n = std::min(text.size(), tag.size() - 1); n > 0; --n) {
    if (text.ends_with(tag.substr(0, n))) return n;
  }
  return 0;
}

}  // namespace

void HermesStream::release(std::string_view text, std::vector<Event>& events) {
  // White space waits until it is known to stand between two pieces of text.
  const size_t begin = text.find_first_not_of(kSpace);
  if (begin == std::string_view::npos) {
    space_ += text;
    return;
  }
  const size_t end = text.find_last_not_of(kSpace) + 1;
  std::string content;
  if (released_) content = space_ + std::string(text.substr(0, begin));
  content += text.substr(begin, end - begin);
  space_ = text.substr(end);
  released_ = true;
  events.push_back({std::move(content), std::nullopt});
}

std::vector<HermesStream::Event> HermesStream::push(std::string_view text) {
  buffer_ += text;
  std::vector<Event> events;
  while (true) {
    const std::string_view tag = inside_ ? kClose : kOpen;
    const size_t found = buffer_.find(tag);
    if (found == std::string::npos) break;
    const std::string part = buffer_.substr(0, found);
    buffer_.erase(0, found + tag.size());
    if (inside_) {
      events.push_back({"", parse_block(part)});
    } else {
      release(part, events);
    }
    inside_ = !inside_;
  }
  if (!inside_) {
    const size_t known = buffer_.size() - partial_tag(buffer_, kOpen);
    release(buffer_.substr(0, known), events);
    buffer_.erase(0, known);
  }
  return events;
}

std::vector<HermesStream::Event> HermesStream::finish() {
  std::vector<Event> events;
  if (inside_) {
    ToolCallBlock block;
    block.raw = buffer_;
    block.error = "unclosed";
    events.push_back({"", std::move(block)});
  } else {
    release(buffer_, events);
  }
  *this = HermesStream();
  return events;
}

ParsedAssistant parse_hermes_tool_calls(std::string_view text) {
  ParsedAssistant parsed;
  HermesStream stream;
  const auto take = [&](std::vector<HermesStream::Event> events) {
    for (HermesStream::Event& event : events) {
      parsed.content += event.content;
      if (event.call) parsed.blocks.push_back(std::move(*event.call));
    }
  };
  take(stream.push(text));
  take(stream.finish());
  return parsed;
}

}  // namespace hone
