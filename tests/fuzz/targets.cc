#include "tests/fuzz/targets.h"

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include <unistd.h>

#include "core/base/error.h"
#include "core/io/checkpoint.h"
#include "core/io/dialect.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// A folder of this process, removed at its end.
const fs::path& scratch() {
  struct Folder {
    fs::path path = fs::temp_directory_path() / ("hone_fuzz_" + std::to_string(::getpid()));
    Folder() { fs::create_directories(path); }
    ~Folder() {
      std::error_code ignored;
      fs::remove_all(path, ignored);
    }
  };
  static const Folder folder;
  return folder.path;
}

void put(const fs::path& path, std::string_view bytes) {
  fs::create_directories(path.parent_path());
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

std::string safetensors_of(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), &length, 8);
  return bytes.append(header).append(data);
}

// Reads the first and last byte, so that a view beyond the file is noticed.
void touch(const TensorView& view) {
  const auto bytes = view.bytes();
  if (bytes.empty()) return;
  const volatile auto both =
      std::to_integer<int>(bytes.front()) + std::to_integer<int>(bytes.back());
  (void)both;
}

// Decodes what the dialect found, as the runtime would.
void read_modules(const Checkpoint& checkpoint) {
  constexpr int64_t kMostColumns = 1 << 16;
  const Dialect* dialect = detect_dialect(checkpoint);
  if (dialect == nullptr) return;
  for (const std::string& module : dialect->modules(checkpoint)) {
    const QuantizedTensor tensor = dialect->read(checkpoint, module);
    if (tensor.rows == 0 || tensor.cols > kMostColumns) continue;
    std::vector<float> row(static_cast<size_t>(tensor.cols));
    dequantize_rows(tensor, tensor.rows - 1, 1, row.data());
  }
}

}  // namespace

bool fuzz_safetensors(const uint8_t* data, size_t size) {
  const fs::path path = scratch() / "input.safetensors";
  put(path, {reinterpret_cast<const char*>(data), size});
  try {
    const auto file = SafetensorsFile::open(path);
    for (const std::string& name : file->names()) touch(file->tensor(name));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool fuzz_index(const uint8_t* data, size_t size) {
  const fs::path folder = scratch() / "index";
  if (!fs::exists(folder / "config.json")) {
    put(folder / "config.json", "{}");
    for (const std::string name : {"a", "b"}) {
      const std::string header =
          R"({")" + name + R"(":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
      put(folder / (name + ".safetensors"), safetensors_of(header, "x"));
    }
  }
  put(folder / "model.safetensors.index.json", {reinterpret_cast<const char*>(data), size});
  try {
    const auto checkpoint = Checkpoint::open(folder);
    for (const std::string& name : checkpoint->names()) touch(checkpoint->tensor(name));
    return true;
  } catch (const Error&) {
    return false;
  }
}

bool fuzz_dialect(const uint8_t* data, size_t size) {
  const fs::path folder = scratch() / "dialect";
  std::array<std::string_view, 4> parts;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  for (size_t i = 0; i < 3; ++i) {
    const size_t end = rest.find('\0');
    if (end == std::string_view::npos) return false;
    parts[i] = rest.substr(0, end);
    rest.remove_prefix(end + 1);
  }
  parts[3] = rest;
  put(folder / "config.json", parts[0]);
  if (parts[1].empty()) {
    fs::remove(folder / "hf_quant_config.json");
  } else {
    put(folder / "hf_quant_config.json", parts[1]);
  }
  put(folder / "model.safetensors", safetensors_of(parts[2], parts[3]));
  try {
    read_modules(*Checkpoint::open(folder));
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace hone
