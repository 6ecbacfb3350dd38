#include "recipes/engine/recipe.h"

#include <charconv>
#include <set>

#include <yaml-cpp/yaml.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

// A plain YAML scalar becomes the JSON type that it spells; quoted scalars stay strings.
Json scalar_to_json(const std::string& text) {
  if (text.empty() || text == "~" || text == "null") return nullptr;
  if (text == "true") return true;
  if (text == "false") return false;
  const char* end = text.data() + text.size();
  int64_t integer = 0;
  if (auto [p, e] = std::from_chars(text.data(), end, integer); e == std::errc() && p == end) {
    return integer;
  }
  double number = 0;
  if (auto [p, e] = std::from_chars(text.data(), end, number); e == std::errc() && p == end) {
    return number;
  }
  return text;
}

// Parses one file and names its line in every error.
class Loader {
 public:
  Loader(
      fs::path path,
      const std::vector<std::string>& sets,
      const std::map<std::string, std::string>& builtins
  )
      : path_(std::move(path)), vars_(builtins) {
    for (const std::string& set : sets) {
      const size_t equals = set.find('=');
      require(equals != std::string::npos && equals > 0, "--set {}: expected key=value", set);
      sets_[set.substr(0, equals)] = set.substr(equals + 1);
    }
  }

  Recipe load() {
    YAML::Node root;
    try {
      root = YAML::Load(read_text_file(path_, 1 << 20));
    } catch (const YAML::Exception& e) {
      throw UsageError(fmt::format("{}:{}: {}", path_.string(), e.mark.line + 1, e.msg));
    }
    expect_keys(root, {"name", "description", "output", "vars", "steps"}, "recipe");
    Recipe recipe;
    recipe.name = text(root["name"], root, "name");
    for (const auto& item : root["vars"]) {
      vars_[item.first.as<std::string>()] = replace(item.second.Scalar(), item.second);
    }
    for (auto& [name, value] : vars_) {
      if (auto it = sets_.find(name); it != sets_.end()) value = take(it);
    }
    recipe.output = replace(text(root["output"], root, "output"), root["output"]);
    if (auto it = sets_.find("output"); it != sets_.end()) recipe.output = take(it);
    if (!root["steps"].IsSequence()) fail(root, "\"steps\" must be a list");
    for (const YAML::Node& node : root["steps"]) recipe.steps.push_back(step(node, recipe.output));
    if (!sets_.empty()) {
      throw UsageError(fmt::format(
          "--set {}: neither a variable of {} nor an option of one of its steps",
          sets_.begin()->first,
          path_.string()
      ));
    }
    return recipe;
  }

 private:
  using Sets = std::map<std::string, std::string>;

  [[noreturn]] void fail(const YAML::Node& node, const std::string& message) const {
    throw UsageError(fmt::format("{}:{}: {}", path_.string(), node.Mark().line + 1, message));
  }

  std::string take(Sets::iterator it) {
    std::string value = it->second;
    sets_.erase(it);
    return value;
  }

  void expect_keys(
      const YAML::Node& node, const std::set<std::string>& known, const std::string& what
  ) const {
    if (!node.IsMap()) fail(node, what + " must be a mapping");
    for (const auto& item : node) {
      const auto key = item.first.as<std::string>();
      if (!known.contains(key)) {
        fail(
            item.first,
            fmt::format("unknown key \"{}\" in {}; known: {}", key, what, fmt::join(known, ", "))
        );
      }
    }
  }

  std::string text(const YAML::Node& node, const YAML::Node& parent, const std::string& key) const {
    if (!node || !node.IsScalar()) fail(parent, fmt::format("\"{}\" must be a string", key));
    return node.Scalar();
  }

  // Replaces ${name} by a variable or by the output of an earlier step.
  std::string replace(const std::string& value, const YAML::Node& node) const {
    std::string result;
    size_t at = 0;
    while (true) {
      const size_t open = value.find("${", at);
      result += value.substr(at, open - at);
      if (open == std::string::npos) return result;
      const size_t close = value.find('}', open);
      if (close == std::string::npos) fail(node, "\"${\" without \"}\"");
      const std::string name = value.substr(open + 2, close - open - 2);
      if (auto it = outputs_.find(name); it != outputs_.end()) {
        result += it->second;
      } else if (auto var = vars_.find(name); var != vars_.end()) {
        result += var->second;
      } else {
        fail(node, fmt::format("${{{}}} is neither a variable nor an earlier step", name));
      }
      at = close + 1;
    }
  }

  Json to_json(const YAML::Node& node) const {
    if (node.IsSequence()) {
      Json list = Json::array();
      for (const YAML::Node& item : node) list.push_back(to_json(item));
      return list;
    }
    if (!node.IsScalar()) fail(node, "expected a scalar or a list");
    const bool quoted = node.Tag() == "!";
    const std::string value = replace(node.Scalar(), node);
    return quoted ? Json(value) : scalar_to_json(value);
  }

  RecipeStep step(const YAML::Node& node, const fs::path& folder) {
    expect_keys(node, {"id", "step", "with", "gate"}, "step");
    RecipeStep step;
    step.id = text(node["id"], node, "id");
    step.kind = text(node["step"], node, "step");
    if (outputs_.contains(step.id) || vars_.contains(step.id)) {
      fail(node, fmt::format("\"{}\" is already the name of a step or variable", step.id));
    }
    if (node["gate"]) step.gate = node["gate"].as<bool>();
    for (const auto& item : node["with"]) {
      step.with[item.first.as<std::string>()] = to_json(item.second);
    }
    const std::string prefix = step.id + ".";
    for (auto it = sets_.begin(); it != sets_.end();) {
      auto next = std::next(it);
      if (it->first.starts_with(prefix)) {
        const std::string option = it->first.substr(prefix.size());
        step.with[option] = scalar_to_json(take(it));
      }
      it = next;
    }
    // Outputs are relative to the recipe's folder; a step without one gets its id.
    const std::string output =
        step.with.contains("output") ? step.with["output"].get<std::string>() : step.id;
    outputs_[step.id] = (folder / output).string();
    step.with["output"] = outputs_[step.id];
    return step;
  }

  fs::path path_;
  Sets sets_;
  std::map<std::string, std::string> vars_;
  std::map<std::string, std::string> outputs_;
};

}  // namespace

Recipe Recipe::load(
    const fs::path& path,
    const std::vector<std::string>& sets,
    const std::map<std::string, std::string>& builtins
) {
  return Loader(path, sets, builtins).load();
}

}  // namespace hone
