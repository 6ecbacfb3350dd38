#include "runtime/serve/generation_request.h"

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

#include "core/base/error.h"
#include "runtime/serve/api_error.h"
#include "runtime/text/conversation.h"

namespace hone {
namespace {

// Typed access to the fields of a body; remembers which were asked for.
class Fields {
 public:
  explicit Fields(const Json& body) : body_(body) {
    if (!body.is_object()) throw ApiError(400, "the body must be a JSON object");
  }

  // Null when missing or null.
  const Json* find(const std::string& name) {
    known_.insert(name);
    auto it = body_.find(name);
    return it == body_.end() || it->is_null() ? nullptr : &*it;
  }
  [[noreturn]] static void wrong(const std::string& name, const char* wanted, const Json& found) {
    std::string text = dump_json(found);
    if (text.size() > 80) text = text.substr(0, 80) + "...";
    throw ApiError(400, fmt::format("\"{}\" must be {}, found {}", name, wanted, text), name);
  }
  bool boolean(const std::string& name, bool otherwise) {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_boolean()) wrong(name, "true or false", *value);
    return value->get<bool>();
  }
  int64_t integer(const std::string& name, int64_t otherwise, int64_t low, int64_t high) {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    const bool whole = value->is_number_integer() ||
                       (value->is_number_float() && std::floor(value->get<double>()) == *value);
    const bool fits = whole && value->get<double>() >= static_cast<double>(low) &&
                      value->get<double>() <= static_cast<double>(high);
    if (!fits) wrong(name, fmt::format("an integer from {} to {}", low, high).c_str(), *value);
    return value->get<int64_t>();
  }
  double number(const std::string& name, double otherwise, double low, double high) {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_number() || !(value->get<double>() >= low && value->get<double>() <= high)) {
      wrong(name, fmt::format("a number from {} to {}", low, high).c_str(), *value);
    }
    return value->get<double>();
  }
  std::string text(const std::string& name, const std::string& otherwise) {
    const Json* value = find(name);
    if (value == nullptr) return otherwise;
    if (!value->is_string()) wrong(name, "a string", *value);
    return value->get<std::string>();
  }
  // Refuses a field that would change the answer and that is not implemented.
  void unsupported(const std::string& name, const std::function<bool(const Json&)>& harmless) {
    const Json* value = find(name);
    if (value != nullptr && !harmless(*value)) {
      throw ApiError(400, fmt::format("\"{}\" is not supported here", name), name);
    }
  }
  [[nodiscard]] std::vector<std::string> unknown() const {
    std::vector<std::string> names;
    for (const auto& [name, value] : body_.items()) {
      if (!known_.contains(name)) names.push_back(name);
    }
    return names;
  }

 private:
  const Json& body_;
  std::set<std::string> known_;
};

bool is_zero(const Json& value) {
  return value.is_number() && value.get<double>() == 0;
}

std::vector<std::string> read_stop(Fields& fields, const RequestLimits& limits) {
  const Json* value = fields.find("stop");
  if (value == nullptr) return {};
  std::vector<std::string> stop;
  if (value->is_string()) {
    stop.push_back(value->get<std::string>());
  } else {
    if (!value->is_array()) Fields::wrong("stop", "a string or a list of strings", *value);
    for (const Json& item : *value) {
      if (!item.is_string()) Fields::wrong("stop", "a string or a list of strings", *value);
      stop.push_back(item.get<std::string>());
    }
  }
  std::erase(stop, "");
  if (stop.size() > static_cast<size_t>(limits.max_stop)) {
    throw ApiError(400, fmt::format("\"stop\" has more than {} entries", limits.max_stop), "stop");
  }
  return stop;
}

// Sampling and length: the same for both endpoints. The result lacks the prompt.
Request read_options(
    Fields& fields, const LoadedModel& model, const RequestLimits& limits, GenerationRequest& result
) {
  Request request = model.request({});
  SamplingParams& sampling = request.sampling;
  sampling.temperature =
      static_cast<float>(fields.number("temperature", sampling.temperature, 0, 2));
  sampling.top_p = static_cast<float>(fields.number("top_p", sampling.top_p, 0, 1));
  if (sampling.top_p == 0) throw ApiError(400, "\"top_p\" must be above 0", "top_p");
  sampling.min_p = static_cast<float>(fields.number("min_p", sampling.min_p, 0, 1));
  sampling.top_k = static_cast<int32_t>(
      std::max<int64_t>(0, fields.integer("top_k", sampling.top_k, -1, 1 << 30))
  );
  const Json* seed = fields.find("seed");
  if (seed != nullptr && !seed->is_number_integer()) Fields::wrong("seed", "an integer", *seed);
  result.seed = seed == nullptr ? draw_seed() : static_cast<uint64_t>(seed->get<int64_t>());
  sampling.seed = result.seed;
  request.stop = read_stop(fields, limits);
  request.ignore_stop_ids = fields.boolean("ignore_eos", false);
  result.stream = fields.boolean("stream", false);
  if (const Json* options = fields.find("stream_options")) {
    if (!options->is_object()) Fields::wrong("stream_options", "an object", *options);
    Fields nested(*options);
    result.include_usage = nested.boolean("include_usage", false);
  }
  result.model = fields.text("model", "");
  fields.find("user");
  fields.find("metadata");
  fields.find("store");
  fields.unsupported("frequency_penalty", is_zero);
  fields.unsupported("presence_penalty", is_zero);
  fields.unsupported("repetition_penalty", [](const Json& v) { return v == 1; });
  fields.unsupported("logit_bias", [](const Json& v) { return v.empty(); });
  fields.unsupported("best_of", [](const Json& v) { return v == 1; });
  return request;
}

int64_t room(const LoadedModel& model, int64_t prompt) {
  const int64_t context = model.model->config().max_positions;
  if (prompt == 0) throw ApiError(400, "the prompt is empty");
  if (prompt >= context) {
    throw ApiError(
        400,
        fmt::format(
            "the prompt has {} tokens; the model's context of {} leaves no room for an answer",
            prompt,
            context
        ),
        "messages",
        "context_length_exceeded"
    );
  }
  return context - prompt;
}

// `asked` <= 0: not given.
int64_t max_tokens(int64_t asked, int64_t left, const RequestLimits& limits) {
  if (asked > 0) return std::min(asked, left);
  return limits.default_max_tokens > 0 ? std::min(limits.default_max_tokens, left) : left;
}

void add_choices(
    GenerationRequest& result, const Request& pattern, const std::vector<int32_t>& prompt, int64_t n
) {
  result.prompt_tokens.push_back(static_cast<int64_t>(prompt.size()));
  for (int64_t choice = 0; choice < n; ++choice) {
    Request request = pattern;
    request.prompt = prompt;
    request.choice = static_cast<uint32_t>(choice);
    result.choices.push_back(std::move(request));
  }
}

// Offered tools for the template; empty when there are none or tool_choice is "none".
Json read_tools(Fields& fields) {
  const Json* tools = fields.find("tools");
  const Json* choice = fields.find("tool_choice");
  fields.find("parallel_tool_calls");
  if (tools != nullptr) {
    if (!tools->is_array()) Fields::wrong("tools", "a list", *tools);
    for (size_t i = 0; i < tools->size(); ++i) {
      const Json& tool = (*tools)[i];
      const std::string name = fmt::format("tools[{}]", i);
      if (!tool.is_object()) Fields::wrong(name, "an object", tool);
      auto function = tool.find("function");
      if (function == tool.end() || !function->is_object() || !function->contains("name") ||
          !function->at("name").is_string()) {
        throw ApiError(400, fmt::format("\"{}\" needs function.name", name), name);
      }
    }
  }
  if (choice != nullptr) {
    if (*choice == "none") return Json::array();
    if (*choice != "auto") {
      throw ApiError(
          400,
          "\"tool_choice\" other than \"auto\" and \"none\" needs constrained decoding, which is "
          "not supported",
          "tool_choice"
      );
    }
  }
  return tools == nullptr ? Json::array() : *tools;
}

ChatInput read_messages(Fields& fields) {
  const Json* messages = fields.find("messages");
  if (messages == nullptr) throw ApiError(400, "\"messages\" is missing", "messages");
  if (!messages->is_array() || messages->empty()) {
    Fields::wrong("messages", "a non-empty list", *messages);
  }
  for (size_t i = 0; i < messages->size(); ++i) {
    const Json& message = (*messages)[i];
    const std::string name = fmt::format("messages[{}]", i);
    if (!message.is_object()) Fields::wrong(name, "an object", message);
    auto role = message.find("role");
    if (role == message.end()) {
      throw ApiError(400, fmt::format("\"{}.role\" is missing", name), name + ".role");
    }
    if (!role->is_string()) Fields::wrong(name + ".role", "a string", *role);
    auto content = message.find("content");
    if (content != message.end() && !content->is_null() && !content->is_string() &&
        !content->is_array()) {
      Fields::wrong(name + ".content", "a string or a list of parts", *content);
    }
  }
  ChatInput input;
  try {
    input.messages = normalize_messages(*messages);
  } catch (const Error& e) {
    throw ApiError(400, e.what(), "messages");
  }
  if (const Json* extra = fields.find("chat_template_kwargs")) {
    if (!extra->is_object()) Fields::wrong("chat_template_kwargs", "an object", *extra);
    input.extra = *extra;
  }
  return input;
}

}  // namespace

uint64_t draw_seed() {
  // 53 bits, so that clients that read numbers as doubles can send it back.
  static thread_local std::mt19937_64 generator{std::random_device{}()};
  return generator() >> 11;
}

GenerationRequest read_chat_request(
    const Json& body, const LoadedModel& model, const RequestLimits& limits
) {
  Fields fields(body);
  GenerationRequest result;
  result.chat = true;
  ChatInput input = read_messages(fields);
  input.tools = read_tools(fields);
  result.parse_tools = !input.tools.empty();
  Request request = read_options(fields, model, limits, result);
  fields.unsupported("response_format", [](const Json& v) {
    return v.is_object() && v.value("type", "") == "text";
  });
  const int64_t n = fields.integer("n", 1, 1, limits.max_choices);
  const bool logprobs = fields.boolean("logprobs", false);
  const int64_t top = fields.integer("top_logprobs", 0, 0, 20);
  if (logprobs) request.top_logprobs = static_cast<int>(top);
  const int64_t asked = fields.integer("max_tokens", 0, 1, 1LL << 31);
  const int64_t asked_new = fields.integer("max_completion_tokens", asked, 1, 1LL << 31);
  result.ignored = fields.unknown();
  if (model.chat_template == nullptr) {
    throw ApiError(400, "the model has no chat template; use /v1/completions");
  }
  std::vector<int32_t> prompt;
  try {
    prompt = model.encode_chat(input);
  } catch (const Error& e) {
    throw ApiError(400, fmt::format("the chat template refuses: {}", e.what()), "messages");
  }
  const int64_t left = room(model, static_cast<int64_t>(prompt.size()));
  request.max_tokens = max_tokens(asked_new, left, limits);
  add_choices(result, request, prompt, n);
  return result;
}

GenerationRequest read_completion_request(
    const Json& body, const LoadedModel& model, const RequestLimits& limits
) {
  Fields fields(body);
  GenerationRequest result;
  const Json* prompt = fields.find("prompt");
  if (prompt == nullptr) throw ApiError(400, "\"prompt\" is missing", "prompt");
  Request request = read_options(fields, model, limits, result);
  fields.unsupported("echo", [](const Json& v) { return v == false; });
  fields.unsupported("suffix", [](const Json& v) {
    return v.is_string() && v.get_ref<const std::string&>().empty();
  });
  const int64_t n = fields.integer("n", 1, 1, limits.max_choices);
  const int64_t asked = fields.integer("max_tokens", 16, 1, 1LL << 31);
  if (fields.find("logprobs") != nullptr) {
    request.top_logprobs = static_cast<int>(fields.integer("logprobs", 0, 0, 20));
  }
  result.ignored = fields.unknown();

  const char* wanted = "a string, a list of strings, or a list of token ids";
  std::vector<std::vector<int32_t>> prompts;
  const auto ids_of = [&](const Json& list) {
    std::vector<int32_t> ids;
    for (const Json& id : list) {
      if (!id.is_number_integer()) Fields::wrong("prompt", wanted, *prompt);
      const auto value = id.get<int64_t>();
      if (value < 0 || value >= model.model->config().vocab) {
        throw ApiError(400, fmt::format("token id {} is outside the vocabulary", value), "prompt");
      }
      ids.push_back(static_cast<int32_t>(value));
    }
    return ids;
  };
  if (prompt->is_string()) {
    prompts.push_back(model.encode_text(prompt->get<std::string>()));
  } else if (prompt->is_array() && !prompt->empty() && prompt->front().is_number()) {
    prompts.push_back(ids_of(*prompt));
  } else if (prompt->is_array() && !prompt->empty()) {
    for (const Json& item : *prompt) {
      if (!item.is_string() && !item.is_array()) Fields::wrong("prompt", wanted, *prompt);
      prompts.push_back(
          item.is_string() ? model.encode_text(item.get<std::string>()) : ids_of(item)
      );
    }
  } else {
    Fields::wrong("prompt", wanted, *prompt);
  }
  if (static_cast<int64_t>(prompts.size()) * n > limits.max_choices) {
    throw ApiError(
        400, fmt::format("more than {} completions in one request", limits.max_choices), "prompt"
    );
  }
  for (const auto& ids : prompts) {
    const int64_t left = room(model, static_cast<int64_t>(ids.size()));
    request.max_tokens = max_tokens(asked, left, limits);
    add_choices(result, request, ids, n);
  }
  return result;
}

}  // namespace hone
