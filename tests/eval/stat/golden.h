// Expected values made by tests/golden/eval/make_stat_golden.py (scipy, statsmodels).
#pragma once

#include <string>
#include <vector>

#include "core/json/json.h"

namespace hone {

inline Json stat_golden() {
  return read_json_file(std::string(HONE_SOURCE_DIR) + "/tests/golden/eval/stat.json");
}

}  // namespace hone
