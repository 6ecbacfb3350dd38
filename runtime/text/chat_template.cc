#include "runtime/text/chat_template.h"

#include <array>
#include <ctime>
#include <optional>

#include "core/base/error.h"
#include "core/base/file.h"
#include "runtime/text/jinja/builtins.h"
#include "runtime/text/jinja/interpreter.h"
#include "runtime/text/jinja/lexer.h"
#include "runtime/text/jinja/parser.h"
#include "runtime/text/jinja/tojson.h"

namespace hone {
namespace {

constexpr uint64_t kMaxTemplateBytes = 4 << 20;

// One template of a checkpoint.
struct Variant {
  std::string text;
  std::string source;
  std::shared_ptr<const jinja::Program> program;
};

Variant parse_variant(std::string text, std::string source) {
  Variant variant{std::move(text), std::move(source), nullptr};
  try {
    variant.program = jinja::parse_template(variant.text);
  } catch (const jinja::SyntaxFault& fault) {
    throw DataError(fmt::format("{}:{}: {}", variant.source, fault.line, fault.message));
  }
  return variant;
}

bool has_generation(const jinja::Block& block) {
  for (const auto& stmt : block) {
    if (stmt->kind == jinja::StmtKind::kGeneration || has_generation(stmt->body) ||
        has_generation(stmt->other)) {
      return true;
    }
    for (const auto& branch : stmt->branches) {
      if (has_generation(branch.second)) return true;
    }
  }
  return false;
}

std::string today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  std::array<char, 32> buffer{};
  const size_t size = std::strftime(buffer.data(), buffer.size(), "%Y-%m-%d %H:%M:%S", &parts);
  return {buffer.data(), size};
}

// The texts of a folder's templates; `use` says which is which.
struct Found {
  std::optional<std::pair<std::string, std::string>> plain;  // text, source
  std::optional<std::pair<std::string, std::string>> tool_use;
};

void read_chat_template_field(const Json& field, const std::string& source, Found& found) {
  if (field.is_string()) {
    found.plain = {field.get<std::string>(), source};
    return;
  }
  require_data(
      field.is_array() || field.is_object(),
      "{}: chat_template must be a string, or a list of names and templates",
      source
  );
  const auto add = [&](const std::string& name, const std::string& text) {
    const std::string where = source + "[" + name + "]";
    if (name == "default") found.plain = {text, where};
    if (name == "tool_use") found.tool_use = {text, where};
  };
  std::string names;
  if (field.is_object()) {
    for (const auto& [name, text] : field.items()) {
      require_data(text.is_string(), "{}: chat_template \"{}\" must be a string", source, name);
      add(name, text.get<std::string>());
      names += " " + name;
    }
  } else {
    for (const Json& entry : field) {
      require_data(entry.is_object(), "{}: an element of chat_template is no object", source);
      const std::string name = json_string(entry, "name", source + ": chat_template");
      add(name, json_string(entry, "template", source + ": chat_template"));
      names += " " + name;
    }
  }
  require_data(
      found.plain || found.tool_use,
      "{}: chat_template has neither \"default\" nor \"tool_use\", only:{}",
      source,
      names
  );
}

Found find_templates(const std::filesystem::path& folder, const Json& config) {
  Found found;
  const auto read = [](const std::filesystem::path& path) {
    return std::pair(read_text_file(path, kMaxTemplateBytes), path.string());
  };
  const auto jinja_path = folder / "chat_template.jinja";
  if (std::filesystem::exists(jinja_path)) {
    found.plain = read(jinja_path);
    const auto tool_path = folder / "additional_chat_templates" / "tool_use.jinja";
    if (std::filesystem::exists(tool_path)) found.tool_use = read(tool_path);
    return found;
  }
  if (config.is_object() && config.contains("chat_template") &&
      !config["chat_template"].is_null()) {
    read_chat_template_field(
        config["chat_template"],
        (folder / "tokenizer_config.json").string() + " chat_template",
        found
    );
    return found;
  }
  const auto json_path = folder / "chat_template.json";
  if (std::filesystem::exists(json_path)) {
    const Json document = read_json_file(json_path);
    if (document.is_object() && document.contains("chat_template")) {
      read_chat_template_field(document["chat_template"], json_path.string(), found);
    }
  }
  return found;
}

Json read_config(const std::filesystem::path& folder) {
  const auto path = folder / "tokenizer_config.json";
  return std::filesystem::exists(path) ? read_json_file(path) : Json();
}

// "bos_token": "<s>", or {"content": "<s>", ...}; lists of tokens stay lists.
Json special_tokens_of(const Json& config) {
  Json tokens = Json::object();
  if (!config.is_object()) return tokens;
  for (const auto& [key, value] : config.items()) {
    if (key.ends_with("_token")) {
      if (value.is_string()) tokens[key] = value;
      if (value.is_object() && value.contains("content")) tokens[key] = value["content"];
    }
    if (key == "additional_special_tokens" && value.is_array()) {
      Json list = Json::array();
      for (const Json& token : value) {
        if (token.is_string()) list.push_back(token);
        if (token.is_object() && token.contains("content")) list.push_back(token["content"]);
      }
      tokens[key] = list;
    }
  }
  return tokens;
}

}  // namespace

struct ChatTemplate::State {
  std::vector<Variant> variants;  // the first is the default
  const Variant* tool_use = nullptr;
  Json special_tokens = Json::object();

  [[nodiscard]] const Variant& choose(bool tools) const {
    return tools && tool_use != nullptr ? *tool_use : variants.front();
  }
};

ChatTemplate::ChatTemplate(std::unique_ptr<State> state) : state_(std::move(state)) {}
ChatTemplate::~ChatTemplate() = default;

std::shared_ptr<const ChatTemplate> ChatTemplate::parse(
    std::string_view text, const std::string& source, const Json& special_tokens
) {
  auto state = std::make_unique<State>();
  state->variants.push_back(parse_variant(std::string(text), source));
  state->special_tokens = special_tokens;
  return std::shared_ptr<const ChatTemplate>(new ChatTemplate(std::move(state)));
}

std::shared_ptr<const ChatTemplate> ChatTemplate::load(const std::filesystem::path& folder) {
  const Json config = read_config(folder);
  Found found = find_templates(folder, config);
  require_data(
      found.plain || found.tool_use,
      "{}: no chat template (chat_template.jinja, or chat_template in tokenizer_config.json); give "
      "the prompt as plain text instead",
      folder.string()
  );
  auto state = std::make_unique<State>();
  state->variants.reserve(2);  // tool_use points into it
  if (found.plain) {
    state->variants.push_back(
        parse_variant(std::move(found.plain->first), std::move(found.plain->second))
    );
  }
  if (found.tool_use) {
    state->variants.push_back(
        parse_variant(std::move(found.tool_use->first), std::move(found.tool_use->second))
    );
    state->tool_use = &state->variants.back();
  }
  state->special_tokens = special_tokens_of(config);
  return std::shared_ptr<const ChatTemplate>(new ChatTemplate(std::move(state)));
}

bool ChatTemplate::exists(const std::filesystem::path& folder) {
  const Found found = find_templates(folder, read_config(folder));
  return found.plain || found.tool_use;
}

const std::string& ChatTemplate::text() const {
  return state_->variants.front().text;
}

bool ChatTemplate::has_generation_blocks() const {
  return has_generation(state_->variants.front().program->body);
}

Rendering ChatTemplate::render_with_spans(const ChatInput& input) const {
  require(
      input.messages.is_array() && (input.tools.is_array() || input.tools.is_null()) &&
          (input.extra.is_object() || input.extra.is_null()),
      "chat input: messages and tools must be lists, extra an object"
  );
  const bool tools = !input.tools.empty();
  const Variant& variant = state_->choose(tools);
  jinja::Interpreter interpreter(variant.program, jinja::Limits{});
  for (const auto& [key, value] : state_->special_tokens.items()) {
    interpreter.set_global(key, jinja::from_json(value, false));
  }
  interpreter.set_global("documents", jinja::Value(jinja::None{}));
  for (const auto& [key, value] : input.extra.items()) {
    interpreter.set_global(key, jinja::from_json(value, true));
  }
  interpreter.set_global("messages", jinja::from_json(input.messages, true));
  interpreter.set_global(
      "tools", tools ? jinja::from_json(input.tools, true) : jinja::Value(jinja::None{})
  );
  interpreter.set_global("add_generation_prompt", jinja::Value(input.add_generation_prompt));
  Rendering out;
  try {
    interpreter.set_global(
        "strftime_now", jinja::strftime_function(input.date.empty() ? today() : input.date)
    );
    jinja::Text text = interpreter.render();
    out.text = std::move(text.bytes);
    for (const jinja::Mark& mark : text.marks) {
      auto& spans = mark.kind == jinja::MarkKind::kInput ? out.input_spans : out.generation_spans;
      spans.emplace_back(mark.begin, mark.end);
    }
  } catch (const jinja::Fault& fault) {
    throw DataError(fmt::format("{}:{}: {}", variant.source, interpreter.line(), fault.what()));
  }
  return out;
}

std::string ChatTemplate::render(const ChatInput& input) const {
  return render_with_spans(input).text;
}

}  // namespace hone
