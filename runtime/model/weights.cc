#include "runtime/model/weights.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <limits>

#include <fmt/ranges.h>

#include "core/base/error.h"
#include "core/base/log.h"
#include "core/base/threads.h"
#include "core/format/block_fp8.h"
#include "core/format/load.h"

namespace hone {
namespace {

constexpr int64_t kScanGrain = 1 << 18;

// First i in [begin, end) with (bits & mask) >= limit, or -1. The first pass has no branch, so
// that it runs at memory speed; broken tensors pay for the second.
template <typename Word>
int64_t first_at_least(const std::byte* data, int64_t begin, int64_t end, Word mask, Word limit) {
  const auto word = [&](int64_t i) {
    Word value;
    std::memcpy(&value, data + i * static_cast<int64_t>(sizeof(Word)), sizeof(Word));
    return static_cast<Word>(value & mask);
  };
  Word bad = 0;
  for (int64_t i = begin; i < end; ++i) bad = static_cast<Word>(bad | (word(i) >= limit ? 1 : 0));
  if (bad == 0) return -1;
  for (int64_t i = begin; i < end; ++i) {
    if (word(i) >= limit) return i;
  }
  return -1;
}

template <typename Word>
int64_t scan(const TensorView& tensor, Word mask, Word limit) {
  std::atomic<int64_t> first{std::numeric_limits<int64_t>::max()};
  ThreadPool::global().parallel_for(tensor.numel(), kScanGrain, [&](int64_t begin, int64_t end) {
    const int64_t found = first_at_least(tensor.data, begin, end, mask, limit);
    if (found < 0) return;
    int64_t seen = first.load();
    while (found < seen && !first.compare_exchange_weak(seen, found)) {
    }
  });
  return first == std::numeric_limits<int64_t>::max() ? -1 : first.load();
}

// "row 3, column 5" of a matrix, "element 7" of anything else.
std::string place(const Shape& shape, int64_t index) {
  if (shape.rank() != 2) return fmt::format("element {}", index);
  return fmt::format("row {}, column {}", index / shape.dim(1), index % shape.dim(1));
}

void require_finite(const TensorView& tensor, const std::string& name, const std::string& where) {
  const int64_t index = first_non_finite(tensor);
  if (index < 0) return;
  float value = 0;
  const int64_t bytes = dtype_bits(tensor.type) / 8;
  load_floats(tensor.type, tensor.data + index * bytes, 1, &value);
  throw DataError(fmt::format(
      "{}: tensor {} is {} at {}; the weights are damaged, fetch or convert the checkpoint again",
      where,
      name,
      value,
      place(tensor.shape, index)
  ));
}

bool is_leftover(std::string_view name) {
  return name.ends_with("rotary_emb.inv_freq") || name.ends_with(".k_scale") ||
         name.ends_with(".v_scale");
}

// What the profile makes of a stored activation rule (runtime/model/model.h).
ActivationQuant applied_rule(const QuantizedTensor& tensor, Profile profile) {
  ActivationQuant applied;
  const bool blackwell = profile == Profile::kBlackwell;
  if (tensor.activation == ActivationRule::kFp8Group128 && profile != Profile::kExact) {
    applied.rule = ActivationRule::kFp8Group128;
    applied.ue8m0_scale = blackwell;
  }
  const bool fp8_rows = tensor.activation == ActivationRule::kFp8Token ||
                        tensor.activation == ActivationRule::kFp8Tensor;
  const bool mx =
      tensor.activation == ActivationRule::kMxfp4 || tensor.activation == ActivationRule::kMxfp8;
  if ((fp8_rows && profile != Profile::kExact) || (mx && blackwell)) {
    applied.rule = tensor.activation;
    applied.input_scale = tensor.input_scale;
  }
  // Without a calibrated input scale engines run the weight-only kernel.
  if (tensor.activation == ActivationRule::kNvfp4 && blackwell && tensor.input_scale) {
    applied.rule = ActivationRule::kNvfp4;
    applied.input_scale = tensor.input_scale;
  }
  return applied;
}

}  // namespace

int64_t first_non_finite(const TensorView& tensor) {
  switch (tensor.type) {
    case DType::kF64:
      return scan<uint64_t>(tensor, 0x7FFFFFFFFFFFFFFFULL, 0x7FF0000000000000ULL);
    case DType::kF32:
      return scan<uint32_t>(tensor, 0x7FFFFFFFU, 0x7F800000U);
    case DType::kF16:
      return scan<uint16_t>(tensor, 0x7FFF, 0x7C00);
    case DType::kBF16:
      return scan<uint16_t>(tensor, 0x7FFF, 0x7F80);
    case DType::kF8E4M3:
      return scan<uint8_t>(tensor, 0x7F, 0x7F);
    case DType::kF8E5M2:
      return scan<uint8_t>(tensor, 0x7F, 0x7C);
    case DType::kF8E8M0:
      return scan<uint8_t>(tensor, 0xFF, 0xFF);
    default:
      return -1;
  }
}

WeightReader::WeightReader(std::shared_ptr<const Checkpoint> checkpoint, Profile profile)
    : checkpoint_(std::move(checkpoint)),
      profile_(profile),
      dialect_(detect_dialect(*checkpoint_)) {
  if (dialect_ == nullptr) return;
  const std::vector<std::string> modules = dialect_->modules(*checkpoint_);
  quantized_.insert(modules.begin(), modules.end());
}

std::string WeightReader::where() const {
  return checkpoint_->folder().string();
}

TensorView WeightReader::find(const std::string& name, const Shape& shape) {
  require_data(
      checkpoint_->contains(name), "{}: tensor {} {} is missing", where(), name, shape.str()
  );
  const TensorView view = checkpoint_->tensor(name);
  require_data(
      view.shape == shape,
      "{}: tensor {} has shape {}, config.json asks for {}",
      where(),
      name,
      view.shape.str(),
      shape.str()
  );
  require_data(
      view.type == DType::kF32 || view.type == DType::kBF16 || view.type == DType::kF16,
      "{}: tensor {} is {}, expected F32, BF16 or F16 (no quantization_config names it)",
      where(),
      name,
      dtype_name(view.type)
  );
  require_finite(view, name, where());
  used_.insert(name);
  return view;
}

std::vector<float> WeightReader::vector(const std::string& module, int64_t size) {
  const TensorView view = find(module + ".weight", {size});
  std::vector<float> result(static_cast<size_t>(size));
  load_floats(view.type, view.data, size, result.data());
  return result;
}

Tensor WeightReader::table(const std::string& module, int64_t rows, int64_t cols) {
  const std::string name = module + ".weight";
  (void)find(name, {rows, cols});
  return checkpoint_->borrow(name);
}

LinearWeight WeightReader::quantized(
    const std::string& module, const LinearShape& shape, ActivationQuant& activation
) {
  QuantizedTensor tensor = dialect_->read(*checkpoint_, module);
  require_data(
      tensor.rows == shape.rows && tensor.cols == shape.cols,
      "{}: module {} has shape [{}, {}], config.json asks for [{}, {}]",
      where(),
      module,
      tensor.rows,
      tensor.cols,
      shape.rows,
      shape.cols
  );
  require_finite(tensor.codes.view(), module + " (codes)", where());
  if (!tensor.block_scales.empty())
    require_finite(tensor.block_scales.view(), module + " (block scales)", where());
  for (const DialectPart& part : dialect_->parts(
           {.module = module,
   .format = tensor.format,
   .activation = tensor.activation,
   .rows = tensor.rows,
   .cols = tensor.cols}
       ))
    used_.insert(part.spec.name);
  activation = applied_rule(tensor, profile_);
  if (profile_ == Profile::kBlackwell && tensor.format == Format::kBlockFp8)
    tensor = requantize_power_of_two(tensor, ThreadPool::global());
  const Format format = tensor.format;
  LinearWeight weight = LinearWeight::quantized(std::move(tensor), module);
  if (weight.quantized_tensor() == nullptr && unpacked_.insert(format).second)
    log_info(
        "{}: no kernel reads {} weights as stored; they are decoded to F32 in memory",
        where(),
        format_name(format)
    );
  return weight;
}

Linear WeightReader::linear(const std::string& module, int64_t layer, const LinearShape& shape) {
  LinearParts parts;
  parts.module = module;
  parts.layer = layer;
  if (quantized_.contains(module)) {
    parts.weight = quantized(module, shape, parts.activation);
  } else {
    parts.weight = LinearWeight::dense(table(module, shape.rows, shape.cols));
  }
  require_data(
      supports(parts.weight.desc()),
      "{}: module {} is {} with {} inputs, which no kernel takes",
      where(),
      module,
      weight_format_name(parts.weight.desc().format),
      shape.cols
  );
  if (shape.bias) {
    const TensorView view = find(module + ".bias", {shape.rows});
    parts.bias.resize(static_cast<size_t>(shape.rows));
    load_floats(view.type, view.data, shape.rows, parts.bias.data());
  }
  return Linear(std::move(parts));
}

void WeightReader::check_all_used() const {
  constexpr size_t kShown = 5;
  std::vector<std::string> unused;
  for (const std::string& name : checkpoint_->names()) {
    if (!used_.contains(name) && !is_leftover(name)) unused.push_back(name);
  }
  if (unused.empty()) return;
  const size_t count = unused.size();
  unused.resize(std::min(count, kShown));
  throw DataError(fmt::format(
      "{}: {} tensors belong to no part of the architecture that config.json names: {}{}; check "
      "\"architectures\", num_hidden_layers and the bias fields",
      where(),
      count,
      fmt::join(unused, ", "),
      count > kShown ? ", ..." : ""
  ));
}

}  // namespace hone
