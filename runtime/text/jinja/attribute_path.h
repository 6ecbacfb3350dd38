// "a.b.0" as filters take it: items first, then attributes, step by step.
#pragma once

#include <vector>

#include "runtime/text/jinja/interpreter.h"
#include "runtime/text/jinja/value.h"

namespace hone::jinja {

class AttributePath {
 public:
  AttributePath() = default;
  // A string with dots, or an index.
  explicit AttributePath(const Value& path);
  [[nodiscard]] Value get(Interpreter& interpreter, const Value& object) const;

 private:
  std::vector<Value> parts_;
};

}  // namespace hone::jinja
