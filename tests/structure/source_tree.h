// The project's sources, as tests/structure looks at them.
#pragma once

#include <string>
#include <vector>

namespace hone {

struct SourceFile {
  std::string path;  // relative to the project's root
  std::string text;
  int lines = 0;
  std::vector<std::string> project_includes;  // "core/base/error.h"
  [[nodiscard]] bool is_header() const { return path.ends_with(".h"); }
};

// Sources of the product (core, runtime, quant, calibrate, speculator, eval, recipes, cli).
const std::vector<SourceFile>& product_sources();
// Sources under tests/.
const std::vector<SourceFile>& test_sources();

}  // namespace hone
