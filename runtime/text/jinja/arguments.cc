#include "runtime/text/jinja/arguments.h"

#include <algorithm>

namespace hone::jinja {

Bound::Bound(
    const Arguments& arguments,
    std::string_view function,
    std::initializer_list<std::string_view> parameters,
    size_t required
)
    : function_(function), values_(parameters.size()) {
  if (arguments.positional.size() > parameters.size()) {
    fail(
        "{}() takes at most {} arguments ({} given)",
        function,
        parameters.size(),
        arguments.positional.size()
    );
  }
  for (size_t i = 0; i < arguments.positional.size(); ++i) values_[i] = arguments.positional[i];
  for (const auto& [name, value] : arguments.named) {
    const auto* const at = std::ranges::find(parameters, name);
    if (at == parameters.end()) {
      fail("{}() got an unexpected keyword argument '{}'", function, name);
    }
    auto& slot = values_[at - parameters.begin()];
    if (slot.has_value()) fail("{}() got multiple values for argument '{}'", function, name);
    slot = value;
  }
  for (size_t i = 0; i < required; ++i) {
    if (!has(i)) fail("{}() missing argument '{}'", function, *(parameters.begin() + i));
  }
}

Int Bound::integer(size_t i, Int otherwise) const {
  if (!has(i) || values_[i]->is_none()) return otherwise;
  if (!values_[i]->is_integer()) {
    fail(
        "{}(): '{}' object cannot be interpreted as an integer", function_, type_name(*values_[i])
    );
  }
  return values_[i]->integer();
}

std::string Bound::string(size_t i, std::string_view otherwise) const {
  if (!has(i) || values_[i]->is_none()) return std::string(otherwise);
  return text(i).bytes;
}

const Text& Bound::text(size_t i) const {
  const Text* text = has(i) ? values_[i]->text() : nullptr;
  if (text == nullptr) {
    fail(
        "{}(): argument {} must be str, not {}",
        function_,
        i + 1,
        has(i) ? type_name(*values_[i]) : "nothing"
    );
  }
  return *text;
}

}  // namespace hone::jinja
