#include "quant/fit/gpu_catalog.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>

#include "core/base/error.h"

namespace hone {
namespace {

// Read off nvidia-smi and amd-smi outputs in public issues and benchmark logs (docs/fit.md). Boards
// of one name with another capacity have a row of their own.
constexpr Gpu kGpus[] = {
    {"a10", "A10 24 GB", 23028},
    {"a100", "A100 80 GB", 81920},
    {"a100-40g", "A100 40 GB", 40960},
    {"b200", "B200 192 GB", 183359},
    {"b300", "B300 288 GB", 275040},
    {"gb200", "GB200 192 GB", 189471},
    {"gb300", "GB300 288 GB", 284208},
    {"gh200", "GH200 96 GB", 97871},
    {"h100", "H100 SXM 80 GB", 81559},
    {"h100-nvl", "H100 NVL 94 GB", 95830},
    {"h20", "H20 96 GB", 97871},
    {"h200", "H200 141 GB", 143771},
    {"h800", "H800 80 GB", 81559},
    {"l4", "L4 24 GB", 23034},
    {"l40s", "L40S 48 GB", 46068},
    {"mi300x", "MI300X 192 GB", 196592},
    {"rtx-3090-ti", "GeForce RTX 3090 Ti 24 GB", 24564},
    {"rtx-4090", "GeForce RTX 4090 24 GB", 24564},
    {"rtx-5090", "GeForce RTX 5090 32 GB", 32607},
    {"rtx-pro-6000", "RTX PRO 6000 Blackwell 96 GB", 97887},
    {"t4", "T4 16 GB", 15360},
};

constexpr int64_t kMaxGpus = 4096;

std::string folded(std::string_view name) {
  std::string result;
  for (const char c : name) {
    if (c == '-' || c == '_' || c == ' ') continue;
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

const Gpu* look_up(std::string_view name) {
  const std::string key = folded(name);
  const auto* it = std::ranges::find_if(kGpus, [&](const Gpu& g) { return folded(g.name) == key; });
  return it == std::end(kGpus) ? nullptr : it;
}

std::optional<int64_t> number(std::string_view digits) {
  int64_t value = 0;
  const char* end = digits.data() + digits.size();
  const auto [at, error] = std::from_chars(digits.data(), end, value);
  if (digits.empty() || error != std::errc() || at != end) return std::nullopt;
  return value;
}

}  // namespace

std::span<const Gpu> gpu_catalog() {
  return kGpus;
}

std::string gpu_names() {
  std::string names;
  for (const Gpu& gpu : kGpus) {
    if (!names.empty()) names += ", ";
    names += gpu.name;
  }
  return names;
}

GpuSet parse_gpus(std::string_view given) {
  std::string text(given);
  std::erase(text, ' ');
  const Gpu* gpu = look_up(text);
  std::optional<int64_t> count = 1;
  // "mi300x" ends in an x of its own, so a count is split off only where one stands.
  for (size_t at = 0; gpu == nullptr && at < text.size(); ++at) {
    if (text[at] != 'x' && text[at] != 'X') continue;
    const std::string left = text.substr(0, at);
    const std::string right = text.substr(at + 1);
    if (const auto n = number(left); n && look_up(right) != nullptr) {
      gpu = look_up(right);
      count = n;
    } else if (const auto m = number(right); m && look_up(left) != nullptr) {
      gpu = look_up(left);
      count = m;
    }
  }
  require(
      gpu != nullptr,
      "unknown GPU \"{}\"; known: {} (with a count: h100x8); for others give --gpu-memory in GiB "
      "and --gpus",
      given,
      gpu_names()
  );
  require(
      *count >= 1 && *count <= kMaxGpus,
      "{} GPUs in \"{}\": expected 1 to {}",
      *count,
      text,
      kMaxGpus
  );
  return {*gpu, *count};
}

}  // namespace hone
