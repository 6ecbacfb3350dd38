#include "core/io/dialect_parts.h"

#include <algorithm>
#include <cstdint>

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
  const auto found = checkpoint.config().find("quantization_config");
  if (found == checkpoint.config().end() || !found->is_object()) return nullptr;
  return &*found;
}

std::string text_field(const Json& object, std::string_view key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

}  // namespace hone
