// Where the program finds what it carries, and where users keep their models.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hone {

// The included model and its evaluation sets: recipes/demo of the source tree or of the
// installation (<prefix>/share/hone/recipes/demo), found from the program's own location. Throws
// DataError saying where it looked.
std::filesystem::path demo_folder();
// The recipe library beside it.
std::filesystem::path recipe_library();
// Its presets of selection rules, "careful, dense-llm, ...".
std::string preset_names();

// Hugging Face cache folders, from HF_HUB_CACHE, HF_HOME and ~/.cache/huggingface.
std::vector<std::filesystem::path> hub_cache_roots();

// A model argument as a folder (core/io/checkpoint.h, find_checkpoint).
std::string resolve_model(const std::string& model);
// A step's input: fields that name a model go through resolve_model, a preset's name becomes its
// file, others stay as they are.
std::string resolve_input(std::string_view field, const std::string& path);

}  // namespace hone
