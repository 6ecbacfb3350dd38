// Vectors made with PyTorch and ml_dtypes by tests/golden/scripts/format_golden.py.
#pragma once

#include <map>
#include <string>

#include "tests/reference/quant_formats.h"

namespace hone {

inline const reference::StoredTensor& golden(const std::string& name) {
  static const auto all =
      reference::read_folder(std::string(HONE_SOURCE_DIR) + "/tests/golden/format");
  return all.at(name);
}
inline std::vector<float> golden_floats(const std::string& name) {
  return reference::elements<float>(golden(name));
}
inline std::vector<uint8_t> golden_bytes(const std::string& name) {
  return reference::elements<uint8_t>(golden(name));
}
inline std::vector<uint16_t> golden_words(const std::string& name) {
  return reference::elements<uint16_t>(golden(name));
}

// Bits of a float, so that zeros keep their sign in comparisons.
inline uint32_t float_bits(float x) {
  uint32_t bits = 0;
  std::memcpy(&bits, &x, sizeof bits);
  return bits;
}

}  // namespace hone
