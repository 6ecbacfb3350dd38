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

// Just behind the JSON string that starts at `begin`. REQUIRES valid JSON.
size_t string_end(std::string_view text, size_t begin) {
  size_t at = begin + 1;
  while (at < text.size() && text[at] != '"') at += text[at] == '\\' ? 2 : 1;
  return at + 1;
}

// Just behind the JSON value that starts at `begin`. REQUIRES valid JSON.
size_t value_end(std::string_view text, size_t begin) {
  int depth = 0;
  for (size_t at = begin; at < text.size();) {
    const char c = text[at];
    if (c == '"') {
      at = string_end(text, at);
      if (depth == 0) return at;
      continue;
    }
    if (depth == 0 && at > begin &&
        (c == ',' || c == '}' || kSpace.find(c) != std::string_view::npos)) {
      return at;
    }
    ++at;
    if (c == '{' || c == '[') ++depth;
    if ((c == '}' || c == ']') && --depth == 0) return at;
  }
  return text.size();
}

// The value of `key` in a JSON object, as written; the last one when there are several, as in the
// parsed document. Empty when the key is written with escapes. REQUIRES valid JSON.
std::string_view raw_value(std::string_view object, std::string_view key) {
  std::string_view found;
  size_t at = object.find('{') + 1;
  while (true) {
    at = object.find('"', at);
    if (at == std::string_view::npos) return found;
    const size_t key_end = string_end(object, at);
    const std::string_view name = object.substr(at + 1, key_end - at - 2);
    const size_t begin = object.find_first_not_of(kSpace, object.find(':', key_end) + 1);
    const size_t end = value_end(object, begin);
    if (name == key) found = object.substr(begin, end - begin);
    at = end;
  }
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

void HermesStream::begin_block() {
  inside_ = true;
  at_ = 0;
  tag_in_string_ = std::string::npos;
  in_string_ = false;
  broken_ = false;
}

void HermesStream::end_block(size_t size, size_t skip, bool closed, std::vector<Event>& events) {
  ToolCallBlock block = parse_block(std::string_view(buffer_).substr(0, size));
  if (!block.call && tag_in_string_ < size) {  // no JSON, so that was no string either
    size = tag_in_string_;
    skip = kClose.size();
    closed = true;
    block = parse_block(std::string_view(buffer_).substr(0, size));
  }
  if (!closed && !block.call) block.error = "unclosed";
  events.push_back({"", std::move(block)});
  buffer_.erase(0, size + skip);
  inside_ = false;
}

// Releases text up to an opening tag, or all that cannot be the start of one.
void HermesStream::scan_outside(std::vector<Event>& events, bool& waiting) {
  const size_t found = buffer_.find(kOpen);
  if (found != std::string::npos) {
    release(std::string_view(buffer_).substr(0, found), events);
    buffer_.erase(0, found + kOpen.size());
    begin_block();
    return;
  }
  const size_t known = buffer_.size() - partial_tag(buffer_, kOpen);
  release(std::string_view(buffer_).substr(0, known), events);
  buffer_.erase(0, known);
  waiting = true;
}

// Reads the body of a block, byte by byte with the state of a JSON lexer.
void HermesStream::scan_inside(std::vector<Event>& events, bool& waiting) {
  while (at_ < buffer_.size()) {
    const std::string_view rest = std::string_view(buffer_).substr(at_);
    const char c = rest[0];
    if (in_string_) {
      if (c == '\\' && rest.size() == 1) break;  // the escape is not complete
      if (static_cast<uint8_t>(c) < 0x20) {
        // No JSON string holds a control character: the quotes cannot be trusted.
        in_string_ = false;
        broken_ = true;
        if (tag_in_string_ != std::string::npos) {
          return end_block(tag_in_string_, kClose.size(), true, events);
        }
        continue;
      }
      if (c == '<' && tag_in_string_ == std::string::npos) {
        if (rest.size() < kClose.size() && kClose.starts_with(rest)) break;
        if (rest.starts_with(kClose)) tag_in_string_ = at_;
      }
      if (c == '"') in_string_ = false;
      at_ += c == '\\' ? 2 : 1;
      continue;
    }
    if (c == '<') {
      if (rest.starts_with(kClose)) return end_block(at_, kClose.size(), true, events);
      if (rest.starts_with(kOpen)) return end_block(at_, 0, false, events);
      if (kClose.starts_with(rest) || kOpen.starts_with(rest)) break;
    }
    in_string_ = c == '"' && !broken_;
    ++at_;
  }
  waiting = true;
}

void HermesStream::scan_all(std::vector<Event>& events) {
  bool waiting = false;
  while (!waiting) {
    if (inside_) {
      scan_inside(events, waiting);
    } else {
      scan_outside(events, waiting);
    }
  }
}

std::vector<HermesStream::Event> HermesStream::push(std::string_view text) {
  std::vector<Event> events;
  buffer_ += text;
  scan_all(events);
  return events;
}

std::vector<HermesStream::Event> HermesStream::finish() {
  std::vector<Event> events;
  while (inside_) {  // what a cut-off block swallowed may hold further ones
    end_block(buffer_.size(), 0, false, events);
    scan_all(events);
  }
  release(buffer_, events);
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
