#include "core/io/dialect_parts.h"

#include <algorithm>
#include <cstdint>

#include "core/base/error.h"

namespace hone {

std::string part_name(const std::string& module, std::string_view suffix) {
  return module + std::string(suffix);
}

std::string in_folder(const Checkpoint& checkpoint, const std::string& what) {
  return checkpoint.folder().string() + ": " + what;
}

Tensor borrow_aligned(const Checkpoint& checkpoint, const std::string& name) {
  Tensor tensor = checkpoint.borrow(name);
  const auto size = static_cast<uintptr_t>(std::max(1, dtype_bits(tensor.type()) / 8));
  if (reinterpret_cast<uintptr_t>(tensor.view().data) % size != 0) return tensor.clone();
  return tensor;
}

const Json* quantization_section(const Checkpoint& checkpoint) {
  const Json& config = checkpoint.config();
  const auto section_of = [](const Json& object) -> const Json* {
    const auto found = object.find("quantization_config");
    return found != object.end() && found->is_object() ? &*found : nullptr;
  };
  if (!config.is_object()) return nullptr;
  if (const Json* section = section_of(config)) return section;
  const auto text = config.find("text_config");
  return text != config.end() && text->is_object() ? section_of(*text) : nullptr;
}

std::string config_source(const Checkpoint& checkpoint) {
  return (checkpoint.folder() / "config.json").string();
}

std::string text_field(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

void require_part(
    const Checkpoint& checkpoint, const std::string& present, const std::string& missing
) {
  require_data(
      checkpoint.contains(missing),
      "{}: \"{}\" has no \"{}\"",
      checkpoint.folder().string(),
      present,
      missing
  );
}

}  // namespace hone
