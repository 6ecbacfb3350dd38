#include "runtime/text/conversation.h"

#include "core/base/error.h"

namespace hone {
namespace {

std::string join_parts(const Json& parts, size_t message) {
  std::string text;
  for (const Json& part : parts) {
    const bool is_text = part.is_object() && part.contains("type") && part["type"] == "text" &&
                         part.contains("text") && part["text"].is_string();
    require_data(
        is_text,
        "messages[{}].content: only parts {{\"type\": \"text\", \"text\": ..}} are supported, "
        "found {}",
        message,
        dump_json(part.is_object() && part.contains("type") ? part["type"] : part)
    );
    if (!text.empty()) text += '\n';
    text += part["text"].get_ref<const std::string&>();
  }
  return text;
}

void parse_arguments(Json& call) {
  auto function = call.find("function");
  Json& holder = function != call.end() && function->is_object() ? *function : call;
  auto arguments = holder.find("arguments");
  if (arguments == holder.end() || !arguments->is_string()) return;
  try {
    Json parsed = parse_json(arguments->get<std::string>(), "arguments");
    if (parsed.is_object()) *arguments = std::move(parsed);
  } catch (const DataError&) {
    // What a model once wrote may be no JSON; the template then shows it as it was.
  }
}

}  // namespace

Json normalize_messages(const Json& messages) {
  require_data(messages.is_array(), "messages must be a list");
  Json result = messages;
  for (size_t i = 0; i < result.size(); ++i) {
    Json& message = result[i];
    require_data(message.is_object(), "messages[{}] must be an object", i);
    Json& content = message["content"];
    if (content.is_null()) content = "";
    if (content.is_array()) content = join_parts(content, i);
    require_data(
        content.is_string(), "messages[{}].content must be a string or a list of parts", i
    );
    auto calls = message.find("tool_calls");
    if (calls == message.end()) continue;
    if (!calls->is_array()) {
      message.erase(calls);
      continue;
    }
    for (Json& call : *calls) {
      if (call.is_object()) parse_arguments(call);
    }
  }
  return result;
}

}  // namespace hone
