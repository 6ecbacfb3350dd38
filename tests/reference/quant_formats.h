// Naive versions of the number formats and of the quantized ones, written from their definitions
// in float64 with rounding by a table, and a safetensors reader of their own: the independent
// side of the tests of quantization.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

namespace hone::reference {

// ---- scalars

inline double bf16_value(uint16_t bits) {
  const uint32_t wide = static_cast<uint32_t>(bits) << 16;
  float value = 0;
  std::memcpy(&value, &wide, sizeof value);
  return value;
}

// E4M3FN without its NaN codes: value of code 0..126 (sign excluded).
inline double e4m3_magnitude(int code) {
  const int exponent = code >> 3;
  const int mantissa = code & 7;
  return exponent == 0 ? std::ldexp(mantissa, -9) : std::ldexp(8 + mantissa, exponent - 10);
}

inline double e2m1_magnitude(int code) {
  const double values[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return values[code];
}

inline double e4m3_value(uint8_t code) {
  const double magnitude = e4m3_magnitude(code & 0x7F);
  return (code & 0x80) != 0 ? -magnitude : magnitude;
}

inline double e2m1_value(int code) {
  return (code & 8) != 0 ? -e2m1_magnitude(code & 7) : e2m1_magnitude(code & 7);
}

// The nearest of the rising magnitudes of codes 0, 1, ...; a tie goes to the even code. Saturates.
inline int nearest(double x, const std::vector<double>& magnitudes) {
  const auto above = std::lower_bound(magnitudes.begin(), magnitudes.end(), x);
  if (above == magnitudes.end()) return static_cast<int>(magnitudes.size()) - 1;
  const auto code = static_cast<int>(above - magnitudes.begin());
  if (code == 0 || *above == x) return code;
  const double up = *above - x;
  const double down = x - magnitudes[static_cast<size_t>(code) - 1];
  if (up == down) return code % 2 == 0 ? code : code - 1;
  return up < down ? code : code - 1;
}

inline const std::vector<double>& e4m3_magnitudes() {
  static const std::vector<double> table = [] {
    std::vector<double> values;
    for (int code = 0; code < 127; ++code) values.push_back(e4m3_magnitude(code));
    return values;
  }();
  return table;
}

inline uint8_t e4m3_code(double x) {
  const int code = nearest(std::fabs(x), e4m3_magnitudes());
  return static_cast<uint8_t>(code | (std::signbit(x) ? 0x80 : 0));
}

inline int e2m1_code(double x) {
  static const std::vector<double> table = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  return nearest(std::fabs(x), table) | (std::signbit(x) ? 8 : 0);
}

// ---- matrices, row-major

struct Matrix {
  int64_t rows = 0;
  int64_t cols = 0;
  std::vector<double> values;
  [[nodiscard]] double at(int64_t r, int64_t c) const {
    return values[static_cast<size_t>(r * cols + c)];
  }
};

struct BlockFp8 {
  std::vector<uint8_t> codes;
  std::vector<float> scales;
};

// One rounding to float32 per operation, as documented; float64 quotients of float32 numbers round
// to the same float32 as a direct division does.
inline BlockFp8 block_fp8(const Matrix& w, bool power_of_two) {
  constexpr int64_t kBlock = 128;
  const int64_t down = (w.rows + kBlock - 1) / kBlock;
  const int64_t across = (w.cols + kBlock - 1) / kBlock;
  BlockFp8 result;
  result.codes.resize(w.values.size());
  result.scales.assign(static_cast<size_t>(down * across), 0.0F);
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t c = 0; c < w.cols; ++c) {
      float& amax = result.scales[static_cast<size_t>(r / kBlock * across + c / kBlock)];
      amax = std::max(amax, static_cast<float>(std::fabs(w.at(r, c))));
    }
  }
  for (float& scale : result.scales) {
    if (scale == 0.0F) {
      scale = 1.0F;
      continue;
    }
    scale = static_cast<float>(static_cast<double>(scale) / 448.0);
    if (power_of_two) scale = static_cast<float>(std::exp2(std::ceil(std::log2(scale))));
  }
  for (int64_t r = 0; r < w.rows; ++r) {
    for (int64_t c = 0; c < w.cols; ++c) {
      const double scale = result.scales[static_cast<size_t>(r / kBlock * across + c / kBlock)];
      const auto scaled = static_cast<float>(w.at(r, c) / scale);
      result.codes[static_cast<size_t>(r * w.cols + c)] = e4m3_code(scaled);
    }
  }
  return result;
}

struct Nvfp4 {
  std::vector<uint8_t> codes;   // two in a byte, even column low
  std::vector<uint8_t> scales;  // E4M3
};

inline Nvfp4 nvfp4(const Matrix& w, float g) {
  Nvfp4 result;
  result.codes.assign(w.values.size() / 2, 0);
  for (size_t block = 0; block < w.values.size() / 16; ++block) {
    double amax = 0;
    for (size_t i = 0; i < 16; ++i) amax = std::max(amax, std::fabs(w.values[16 * block + i]));
    const auto sixth = static_cast<float>(amax / 6.0);
    const auto relative = static_cast<float>(static_cast<double>(sixth) / g);
    uint8_t scale = e4m3_code(std::max(static_cast<double>(relative), std::ldexp(1.0, -9)));
    if (amax == 0) scale = 0x38;
    result.scales.push_back(scale);
    const auto step = static_cast<float>(e4m3_value(scale) * g);
    for (size_t i = 0; i < 16; ++i) {
      const size_t at = 16 * block + i;
      const auto scaled = static_cast<float>(w.values[at] / static_cast<double>(step));
      const int code = e2m1_code(scaled);
      result.codes[at / 2] |= static_cast<uint8_t>(at % 2 == 0 ? code : code << 4);
    }
  }
  return result;
}

// FP8 under the scale of each row (channel) or of the whole matrix, amax / 448.
inline BlockFp8 scaled_fp8(const Matrix& w, bool channel) {
  BlockFp8 result;
  const int64_t group = channel ? w.cols : w.rows * w.cols;
  for (size_t begin = 0; begin < w.values.size(); begin += static_cast<size_t>(group)) {
    const size_t end = begin + static_cast<size_t>(group);
    double amax = 0;
    for (size_t i = begin; i < end; ++i) amax = std::max(amax, std::fabs(w.values[i]));
    const float scale =
        amax == 0 ? 1.0F : std::max(static_cast<float>(amax / 448.0), std::ldexp(1.0F, -126));
    result.scales.push_back(scale);
    for (size_t i = begin; i < end; ++i) {
      const auto scaled = static_cast<float>(w.values[i] / static_cast<double>(scale));
      result.codes.push_back(e4m3_code(scaled));
    }
  }
  return result;
}

enum class MxRule { kFloor, kRound, kCeil };

struct Mx {
  std::vector<uint8_t> codes;   // one in a byte; FP4: two, even column low
  std::vector<uint8_t> scales;  // E8M0
};

// OCP MX, exponents from logarithms of exact numbers.
inline int mx_exponent(double amax, bool fp4, MxRule rule) {
  const double largest = fp4 ? 6.0 : 448.0;
  const int emax = fp4 ? 2 : 8;
  int floor_log2 = 0;
  const double significand = 2 * std::frexp(amax, &floor_log2);  // [1, 2)
  --floor_log2;
  switch (rule) {
    case MxRule::kFloor:
      return floor_log2 - emax;
    case MxRule::kRound:
      return floor_log2 - emax + (significand >= 1.75 ? 1 : 0);
    case MxRule::kCeil:
      break;
  }
  int n = floor_log2 - emax - 1;
  while (amax > std::ldexp(largest, n)) ++n;
  return n;
}

inline Mx mx(const Matrix& w, bool fp4, MxRule rule) {
  Mx result;
  result.codes.assign(fp4 ? w.values.size() / 2 : w.values.size(), 0);
  for (size_t block = 0; block < w.values.size() / 32; ++block) {
    double amax = 0;
    for (size_t i = 0; i < 32; ++i) amax = std::max(amax, std::fabs(w.values[32 * block + i]));
    const int n = amax == 0 ? 0 : std::max(mx_exponent(amax, fp4, rule), -127);
    result.scales.push_back(static_cast<uint8_t>(n + 127));
    for (size_t at = 32 * block; at < 32 * block + 32; ++at) {
      const double scaled = std::ldexp(w.values[at], -n);
      if (!fp4) {
        result.codes[at] = e4m3_code(scaled);
      } else {
        const int code = e2m1_code(scaled);
        result.codes[at / 2] |= static_cast<uint8_t>(at % 2 == 0 ? code : code << 4);
      }
    }
  }
  return result;
}

// ---- files

struct StoredTensor {
  std::string dtype;
  std::vector<int64_t> shape;
  std::string bytes;
};

inline std::string read_bytes(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path.string());
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// All tensors of all *.safetensors files of a folder.
inline std::map<std::string, StoredTensor> read_folder(const std::filesystem::path& folder) {
  std::map<std::string, StoredTensor> tensors;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".safetensors") continue;
    const std::string bytes = read_bytes(entry.path());
    uint64_t size = 0;
    std::memcpy(&size, bytes.data(), 8);
    const auto header = nlohmann::json::parse(bytes.substr(8, size));
    for (const auto& [name, value] : header.items()) {
      if (name == "__metadata__") continue;
      const auto begin = value["data_offsets"][0].get<size_t>();
      const auto end = value["data_offsets"][1].get<size_t>();
      if (tensors.contains(name)) throw std::runtime_error(name + " is in two files");
      tensors[name] = {
          value["dtype"].get<std::string>(),
          value["shape"].get<std::vector<int64_t>>(),
          bytes.substr(8 + size + begin, end - begin)};
    }
  }
  return tensors;
}

template <typename T>
std::vector<T> elements(const StoredTensor& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

// A BF16 or F32 matrix.
inline Matrix matrix_of(const StoredTensor& tensor) {
  Matrix m{tensor.shape.at(0), tensor.shape.at(1), {}};
  if (tensor.dtype == "BF16") {
    for (uint16_t bits : elements<uint16_t>(tensor)) m.values.push_back(bf16_value(bits));
  } else if (tensor.dtype == "F32") {
    for (float value : elements<float>(tensor)) m.values.push_back(value);
  } else {
    throw std::runtime_error("matrix_of: dtype " + tensor.dtype);
  }
  return m;
}

// |a - b| / |b| in the Frobenius norm.
inline double relative_error(const std::vector<double>& a, const std::vector<double>& b) {
  double difference = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    difference += (a[i] - b[i]) * (a[i] - b[i]);
    norm += b[i] * b[i];
  }
  return std::sqrt(difference / norm);
}

}  // namespace hone::reference
