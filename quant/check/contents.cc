#include "quant/check/contents.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <mutex>
#include <optional>
#include <vector>

#include "core/base/cancel.h"
#include "core/base/progress.h"
#include "core/base/threads.h"
#include "core/format/e8m0.h"
#include "core/format/load.h"

namespace hone {
namespace {

constexpr int64_t kShownFrom = int64_t{1} << 30;
constexpr uint64_t kPieceBytes = uint64_t{8} << 20;
constexpr int64_t kStripe = 4096;  // elements looked at together

enum class Kind : uint8_t { kScales, kWeights };

struct Piece {
  const SnapshotTensor* tensor = nullptr;
  Kind kind = Kind::kScales;
  uint64_t offset = 0;
  uint64_t size = 0;
};

// Zero bits of any magnitude: codes of E4M3 and E2M1 without their signs.
uint8_t magnitude_mask(DType type) {
  switch (type) {
    case DType::kF8E4M3:
    case DType::kF8E5M2:
      return 0x7F;
    case DType::kU8:
    case DType::kI8:
    case DType::kF4:
      return 0x77;
    default:
      return 0xFF;
  }
}

bool is_floating(DType type) {
  switch (type) {
    case DType::kF32:
    case DType::kBF16:
    case DType::kF16:
    case DType::kF8E4M3:
    case DType::kF8E5M2:
    case DType::kF8E8M0:
      return true;
    default:
      return false;
  }
}

void keep_first(int64_t& slot, int64_t index) {
  if (slot < 0 || index < slot) slot = index;
}

// E8M0 exponents stored as U8: only 255 says something.
void look_at_exponents(const std::byte* data, int64_t n, int64_t first, TensorContents& result) {
  for (int64_t i = 0; i < n; ++i) {
    if (data[i] == std::byte{kE8m0Nan}) return keep_first(result.first_nan, first + i);
  }
}

void look_at_scales(
    DType type, const std::byte* data, int64_t n, int64_t first, TensorContents& result
) {
  float values[kStripe];
  for (int64_t at = 0; at < n; at += kStripe) {
    const int64_t count = std::min(kStripe, n - at);
    load_floats(type, data + at * dtype_bits(type) / 8, count, values);
    for (int64_t i = 0; i < count; ++i) {
      const float value = values[i];
      if (!(std::abs(value) <= std::numeric_limits<float>::max())) {
        keep_first(result.first_nan, first + at + i);
      } else if (value == 0) {
        keep_first(result.first_zero, first + at + i);
      } else if (value < 0) {
        keep_first(result.first_negative, first + at + i);
      } else if (!is_e8m0(value)) {
        keep_first(result.first_not_power_of_two, first + at + i);
      }
    }
  }
}

// First NaN or infinity of 16-bit elements whose exponent field is `mask`.
int64_t find_non_finite_16(const std::byte* data, int64_t n, uint16_t mask) {
  for (int64_t at = 0; at < n; at += kStripe) {
    const int64_t count = std::min(kStripe, n - at);
    bool any = false;
    uint16_t bits = 0;
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(&bits, data + 2 * (at + i), 2);
      any |= (bits & mask) == mask;
    }
    if (!any) continue;
    for (int64_t i = 0;; ++i) {
      std::memcpy(&bits, data + 2 * (at + i), 2);
      if ((bits & mask) == mask) return at + i;
    }
  }
  return -1;
}

int64_t find_non_finite_32(const std::byte* data, int64_t n) {
  constexpr uint32_t kExponent = 0x7F800000U;
  for (int64_t at = 0; at < n; at += kStripe) {
    const int64_t count = std::min(kStripe, n - at);
    bool any = false;
    uint32_t bits = 0;
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(&bits, data + 4 * (at + i), 4);
      any |= (bits & kExponent) == kExponent;
    }
    if (!any) continue;
    for (int64_t i = 0;; ++i) {
      std::memcpy(&bits, data + 4 * (at + i), 4);
      if ((bits & kExponent) == kExponent) return at + i;
    }
  }
  return -1;
}

// The first byte whose bits under 0x7F are at least `floor`: NaN codes of E4M3 (0x7F), infinities
// and NaN of E5M2 (0x7C).
int64_t find_code(const std::byte* data, int64_t n, uint8_t floor) {
  for (int64_t at = 0; at < n; at += kStripe) {
    const int64_t count = std::min(kStripe, n - at);
    bool any = false;
    for (int64_t i = 0; i < count; ++i)
      any |= (static_cast<uint8_t>(data[at + i]) & 0x7FU) >= floor;
    if (!any) continue;
    for (int64_t i = 0;; ++i) {
      if ((static_cast<uint8_t>(data[at + i]) & 0x7FU) >= floor) return at + i;
    }
  }
  return -1;
}

int64_t find_non_finite(DType type, const std::byte* data, int64_t n) {
  switch (type) {
    case DType::kBF16:
      return find_non_finite_16(data, n, 0x7F80);
    case DType::kF16:
      return find_non_finite_16(data, n, 0x7C00);
    case DType::kF32:
      return find_non_finite_32(data, n);
    case DType::kF8E4M3:
      return find_code(data, n, 0x7F);
    case DType::kF8E5M2:
      return find_code(data, n, 0x7C);
    default:
      return -1;
  }
}

bool all_zero(DType type, const std::byte* data, uint64_t size) {
  const auto mask = std::byte{magnitude_mask(type)};
  for (uint64_t at = 0; at < size; at += kStripe) {
    std::byte any{0};
    for (uint64_t i = at; i < std::min<uint64_t>(size, at + kStripe); ++i) any |= data[i];
    if ((any & mask) != std::byte{0}) return false;
  }
  return true;
}

TensorContents look_at(const Piece& piece) {
  const DType type = piece.tensor->entry->type;
  const std::byte* data = piece.tensor->bytes().data() + piece.offset;
  const int64_t bits = dtype_bits(type);
  const int64_t n = static_cast<int64_t>(piece.size) * 8 / bits;
  const int64_t first = static_cast<int64_t>(piece.offset) * 8 / bits;
  TensorContents result;
  if (piece.kind == Kind::kScales) {
    if (type == DType::kU8 || type == DType::kF8E8M0) {
      look_at_exponents(data, n, first, result);
    } else if (is_floating(type)) {
      look_at_scales(type, data, n, first, result);
    }
    return result;
  }
  const int64_t bad = find_non_finite(type, data, n);
  if (bad >= 0) result.first_nan = first + bad;
  result.all_zero = all_zero(type, data, piece.size);
  return result;
}

void merge(TensorContents& into, const TensorContents& piece) {
  const auto first = [](int64_t& slot, int64_t index) {
    if (index >= 0) keep_first(slot, index);
  };
  first(into.first_nan, piece.first_nan);
  first(into.first_negative, piece.first_negative);
  first(into.first_zero, piece.first_zero);
  first(into.first_not_power_of_two, piece.first_not_power_of_two);
  into.all_zero = into.all_zero && piece.all_zero;
}

void add_pieces(std::vector<Piece>& pieces, const SnapshotTensor* tensor, Kind kind) {
  if (tensor == nullptr) return;
  const uint64_t size = tensor->entry->end - tensor->entry->begin;
  for (uint64_t offset = 0; offset < size; offset += kPieceBytes) {
    pieces.push_back({tensor, kind, offset, std::min(kPieceBytes, size - offset)});
  }
}

// In the order of the files, so that disks read on.
std::vector<Piece> plan_pieces(
    const Snapshot& snapshot, const ModuleTable& modules, const ContentsRequest& request
) {
  std::unordered_map<const SnapshotTensor*, Kind> kinds;
  for (const CheckedModule& module : modules.modules()) {
    if (!module.quantized()) continue;
    for (const Part part : {Part::kScale, Part::kScaleInv, Part::kBlockExponents}) {
      if (const SnapshotTensor* tensor = module.part(part)) kinds.emplace(tensor, Kind::kScales);
    }
  }
  std::vector<Piece> pieces;
  for (const std::string& name : snapshot.names) {
    const SnapshotTensor* tensor = snapshot.find(name);
    const auto it = kinds.find(tensor);
    const Kind kind = it == kinds.end() ? Kind::kWeights : it->second;
    if (kind == Kind::kScales ? request.scales : request.codes) add_pieces(pieces, tensor, kind);
  }
  return pieces;
}

}  // namespace

const TensorContents* Contents::find(const std::string& tensor) const {
  const auto it = tensors.find(tensor);
  return it == tensors.end() ? nullptr : &it->second;
}

Contents read_contents(
    const Snapshot& snapshot, const ModuleTable& modules, const ContentsRequest& request
) {
  Contents contents;
  contents.scales = request.scales;
  contents.codes = request.codes;
  if (!request.scales && !request.codes) return contents;
  const std::vector<Piece> pieces = plan_pieces(snapshot, modules, request);
  int64_t total = 0;
  for (const Piece& piece : pieces) total += static_cast<int64_t>(piece.size);
  // What is read in a moment needs no bar.
  std::optional<Progress> progress;
  if (total >= kShownFrom) progress.emplace("check", total, "B");
  std::mutex mutex;
  ThreadPool::global().parallel_for(std::ssize(pieces), 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      throw_if_cancelled();
      const Piece& piece = pieces[i];
      const TensorContents found = look_at(piece);
      piece.tensor->shard->scan->drop(*piece.tensor->entry, piece.offset, piece.size);
      if (progress) progress->advance(static_cast<int64_t>(piece.size));
      const std::lock_guard lock(mutex);
      const auto [it, fresh] = contents.tensors.emplace(piece.tensor->entry->name, found);
      if (!fresh) merge(it->second, found);
    }
  });
  return contents;
}

}  // namespace hone
