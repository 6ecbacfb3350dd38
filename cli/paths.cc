#include "cli/paths.h"

#include <cstdlib>
#include <set>

#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/io/checkpoint.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

fs::path find_recipes() {
  std::error_code ignored;
  const fs::path program = fs::read_symlink("/proc/self/exe", ignored);
  std::vector<fs::path> tried{program.parent_path() / ".." / "share" / "hone" / "recipes"};
  // A program in a build folder: the source tree is one of the folders above it.
  for (fs::path p = program.parent_path(); p.has_relative_path(); p = p.parent_path()) {
    tried.push_back(p / "recipes");
  }
  for (const fs::path& candidate : tried) {
    if (fs::exists(candidate / "demo" / "config.json")) return fs::weakly_canonical(candidate);
  }
  std::string list;
  for (const fs::path& candidate : tried) list += "\n  " + candidate.string();
  throw DataError("the included recipes were not found; looked in:" + list);
}

}  // namespace

fs::path demo_folder() {
  return find_recipes() / "demo";
}

fs::path recipe_library() {
  return find_recipes() / "library";
}

std::string preset_names() {
  std::set<std::string> names;
  for (const auto& entry : fs::directory_iterator(recipe_library() / "presets")) {
    if (entry.path().extension() == ".yaml") names.insert(entry.path().stem().string());
  }
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<fs::path> hub_cache_roots() {
  std::vector<fs::path> roots;
  if (const char* cache = std::getenv("HF_HUB_CACHE")) roots.emplace_back(cache);
  if (const char* home = std::getenv("HF_HOME")) roots.push_back(fs::path(home) / "hub");
  if (const char* home = std::getenv("HOME")) {
    roots.push_back(fs::path(home) / ".cache" / "huggingface" / "hub");
  }
  return roots;
}

std::string resolve_model(const std::string& model) {
  return find_checkpoint(model, hub_cache_roots()).string();
}

std::string resolve_input(std::string_view field, const std::string& path) {
  if (field == "preset" && !path.empty() && !fs::exists(path)) {
    const fs::path file = recipe_library() / "presets" / (path + ".yaml");
    require(fs::exists(file), "no preset \"{}\"; known: {}", path, preset_names());
    return file.string();
  }
  const bool is_model = field == "model" || field == "reference" || field == "target";
  return is_model && !fs::exists(path) ? resolve_model(path) : path;
}

}  // namespace hone
