// Raw safetensors bytes, also broken ones.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

namespace hone {

// Length word, header and `data` as they are, whatever they say.
inline std::string safetensors_bytes(const std::string& header, const std::string& data) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes + header + data;
}

}  // namespace hone
