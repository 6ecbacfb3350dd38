// Arguments of a call bound to parameter names, with Python's errors.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/text/jinja/value.h"

namespace hone::jinja {

class Bound {
 public:
  // Throws Fault when an argument is too many, unknown or given twice, or when one of the first
  // `required` parameters is missing.
  Bound(
      const Arguments& arguments,
      std::string_view function,
      std::initializer_list<std::string_view> parameters,
      size_t required = 0
  );

  [[nodiscard]] bool has(size_t i) const { return values_[i].has_value(); }
  // REQUIRES has(i).
  [[nodiscard]] const Value& operator[](size_t i) const { return *values_[i]; }
  [[nodiscard]] bool flag(size_t i, bool otherwise) const {
    return has(i) ? truthy(*values_[i]) : otherwise;
  }
  // Throw Fault on another type. None counts as missing.
  [[nodiscard]] Int integer(size_t i, Int otherwise) const;
  [[nodiscard]] std::string string(size_t i, std::string_view otherwise) const;
  // Throws Fault unless it is a string.
  [[nodiscard]] const Text& text(size_t i) const;

 private:
  std::string function_;
  std::vector<std::optional<Value>> values_;
};

}  // namespace hone::jinja
