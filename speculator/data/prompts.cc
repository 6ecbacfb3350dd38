#include "speculator/data/prompts.h"

#include <algorithm>
#include <fstream>
#include <set>
#include <utility>

#include "core/base/error.h"
#include "core/base/hash.h"

namespace hone {
namespace {

// The message lists that the assistant answered, or is to answer.
std::vector<Json> answered_prefixes(const Json& messages, const std::string& source) {
  require_data(
      messages.is_array() && !messages.empty(),
      "{}: field \"messages\" is no list of messages",
      source
  );
  std::vector<Json> prefixes;
  Json before = Json::array();
  for (const Json& message : messages) {
    require_data(
        message.is_object(), "{}: a message is {}, expected an object", source, message.type_name()
    );
    const std::string role = json_string(message, "role", source);
    if (role == "assistant" && !before.empty()) prefixes.push_back(before);
    before.push_back(message);
  }
  if (json_string(messages.back(), "role", source) != "assistant") prefixes.push_back(before);
  require_data(!prefixes.empty(), "{}: no message that an assistant could answer", source);
  return prefixes;
}

// Data sets of single questions become conversations of one turn.
void as_conversation(Json& trace, const std::string& source) {
  if (trace.contains("messages")) return;
  for (const char* field : {"question", "prompt"}) {
    if (!trace.contains(field)) continue;
    trace["messages"] =
        Json::array({{{"role", "user"}, {"content", json_string(trace, field, source)}}});
    return;
  }
  throw DataError(
      fmt::format("{}: none of the fields \"messages\", \"question\" and \"prompt\"", source)
  );
}

}  // namespace

PromptSet read_prompts(
    const std::filesystem::path& path, const LoadedModel& target, const PromptOptions& options
) {
  std::ifstream file(path);
  require_data(file.good(), "{}: cannot be read", path.string());
  PromptSet set;
  std::set<std::vector<int32_t>> seen;
  std::string line;
  for (int64_t number = 1; std::getline(file, line); ++number) {
    if (options.limit > 0 && std::cmp_greater_equal(set.prompts.size(), options.limit)) break;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    const std::string source = fmt::format("line {} of {}", number, path.string());
    Json trace = parse_json(line, source);
    require_data(trace.is_object(), "{}: {}, expected an object", source, trace.type_name());
    as_conversation(trace, source);
    ChatInput input;
    if (trace.contains("tools") && !trace["tools"].is_null()) input.tools = trace["tools"];
    const std::string key = sha256(dump_json(trace["messages"]) + dump_json(input.tools));
    ++set.conversations;
    for (Json& messages : answered_prefixes(trace["messages"], source)) {
      input.messages = std::move(messages);
      std::vector<int32_t> ids = target.encode_chat(input);
      if (std::cmp_greater_equal(ids.size(), options.max_length)) {
        ++set.too_long;
      } else if (!seen.insert(ids).second) {
        ++set.duplicates;
      } else {
        set.prompts.push_back({static_cast<int64_t>(set.prompts.size()), key, std::move(ids)});
      }
    }
  }
  if (options.limit > 0 && std::cmp_greater(set.prompts.size(), options.limit))
    set.prompts.resize(static_cast<size_t>(options.limit));
  require(
      !set.prompts.empty(),
      "{}: no prompt to train on ({} conversations, {} longer than {} tokens)",
      path.string(),
      set.conversations,
      set.too_long,
      options.max_length
  );
  return set;
}

}  // namespace hone
