#include "recipes/step/preset.h"

#include <set>

#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

class Loader {
 public:
  explicit Loader(fs::path path) : path_(std::move(path)) {}

  Preset load() {
    YAML::Node root;
    try {
      root = YAML::Load(read_text_file(path_, 1 << 20));
    } catch (const YAML::Exception& e) {
      throw UsageError(fmt::format("{}:{}: {}", path_.string(), e.mark.line + 1, e.msg));
    }
    if (!root.IsMap()) fail(root, "a preset must be a mapping with name, about and rules");
    static const std::set<std::string> kKeys = {"name", "about", "scheme", "rules"};
    for (const auto& item : root) {
      if (!kKeys.contains(item.first.Scalar()))
        fail(
            item.first,
            fmt::format(
                "unknown key \"{}\"; known: {}", item.first.Scalar(), fmt::join(kKeys, ", ")
            )
        );
    }
    Preset preset;
    preset.name = text(root, "name");
    if (preset.name != path_.stem().string())
      fail(root["name"], fmt::format("name is \"{}\", expected the file's", preset.name));
    preset.about = text(root, "about");
    if (root["scheme"]) {
      preset.scheme = text(root, "scheme");
      if (find_scheme(preset.scheme) == nullptr)
        fail(
            root["scheme"],
            fmt::format("unknown scheme \"{}\"; known: {}", preset.scheme, scheme_names())
        );
    }
    if (!root["rules"] || !root["rules"].IsSequence())
      fail(root, "\"rules\" must be a list of pattern=format");
    for (const YAML::Node& node : root["rules"]) preset.rules.push_back(rule(node, preset.name));
    return preset;
  }

 private:
  [[noreturn]] void fail(const YAML::Node& node, const std::string& message) const {
    throw UsageError(fmt::format("{}:{}: {}", path_.string(), node.Mark().line + 1, message));
  }

  std::string text(const YAML::Node& root, const char* key) const {
    const YAML::Node node = root[key];
    if (!node || !node.IsScalar() || node.Scalar().empty())
      fail(root, fmt::format("\"{}\" must be a string", key));
    return node.Scalar();
  }

  Rule rule(const YAML::Node& node, const std::string& name) const {
    if (!node.IsScalar()) fail(node, "a rule must be a string, pattern=format");
    try {
      Rule parsed = Rule::parse(node.Scalar());
      parsed.preset = name;
      return parsed;
    } catch (const UsageError& error) {
      fail(node, error.what());
    }
  }

  fs::path path_;
};

}  // namespace

Preset Preset::load(const fs::path& path) {
  return Loader(path).load();
}

}  // namespace hone
