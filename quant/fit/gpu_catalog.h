// GPUs by name with the memory that their drivers report.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hone {

struct Gpu {
  std::string_view name;   // "h100"
  std::string_view title;  // "H100 SXM 80 GB"
  // memory.total of nvidia-smi (amd-smi: VRAM size) with ECC as shipped, in MiB. What CUDA hands
  // out is a few hundred MiB less; FitReserves::context covers that.
  int64_t memory_mib = 0;

  [[nodiscard]] int64_t bytes() const { return memory_mib << 20; }
};

std::span<const Gpu> gpu_catalog();
// "h100, h200, b200, ..."
std::string gpu_names();

struct GpuSet {
  Gpu gpu;
  int64_t count = 1;
};

// "h100x8", "8xh100", "h100" (one); letters of either case, '-' and '_' alike. Throws UsageError
// listing the known names, or saying what a count may be (1 to 4096).
GpuSet parse_gpus(std::string_view text);

}  // namespace hone
