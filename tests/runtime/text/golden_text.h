// Reads the golden files of tests/golden/text.
#pragma once

#include <string>

#include "core/json/json.h"

namespace hone {

inline Json golden_text(const std::string& name) {
  return read_json_file(std::string(HONE_SOURCE_DIR) + "/tests/golden/text/" + name);
}

inline std::string demo_folder() {
  return std::string(HONE_SOURCE_DIR) + "/recipes/demo";
}

}  // namespace hone
