#include "quant/fit/fit.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/base/error.h"
#include "core/base/progress.h"
#include "quant/fit/cache.h"
#include "quant/select/rules.h"
#include "runtime/model/schema/tensors.h"

namespace hone {
namespace {

constexpr int64_t kBf16Bytes = 2;
constexpr int64_t kF32Bytes = 4;
constexpr int64_t kMaxBatch = int64_t{1} << 20;
constexpr int64_t kMaxCount = 4096;
constexpr int64_t kUnlimitedContext = int64_t{1} << 24;

int64_t share(int64_t n, int64_t parts) {
  return (n + parts - 1) / parts;
}

// a * b, or the largest number: both are positive.
int64_t product(int64_t a, int64_t b) {
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  return b > 0 && a > kMax / b ? kMax : a * b;
}

bool routed(const ExpectedTensor& t) {
  return t.layout != ExpertLayout::kNone;
}

bool is_shared_expert(const ExpectedTensor& t) {
  return t.name.find(".shared_expert") != std::string::npos;
}

std::string_view kind_of(const ExpectedTensor& t) {
  if (routed(t)) return "routed experts";
  if (is_shared_expert(t) && t.role != Role::kMoeRouter) return "shared experts";
  switch (t.role) {
    case Role::kEmbedding:
      return "embedding";
    case Role::kLmHead:
      return "lm_head";
    case Role::kMlpGate:
    case Role::kMlpUp:
    case Role::kMlpDown:
    case Role::kMlpGateUp:
      return "mlp";
    case Role::kMoeRouter:
      return "routers";
    case Role::kMoeLatent:
      return "expert latents";
    case Role::kLinearAttn:
      return "linear attention";
    case Role::kVision:
      return "vision";
    case Role::kNorm:
    case Role::kResidual:
      return "norms";
    default:
      return "attention";
  }
}

// In which reports list them.
constexpr std::string_view kKinds[] = {
    "embedding",
    "attention",
    "linear attention",
    "mlp",
    "routers",
    "expert latents",
    "shared experts",
    "routed experts",
    "norms",
    "lm_head",
    "vision"};

struct Formats {
  const WeightFormat* dense = nullptr;
  const WeightFormat* experts = nullptr;
};

// Bytes of one expert's tensor, or of the tensor.
int64_t unit_bytes(const ExpectedTensor& t, const Formats& formats) {
  const WeightFormat& format = routed(t) ? *formats.experts : *formats.dense;
  if (t.is_matrix() && kept_by_default(t.role, format.four_bits()).empty())
    return format.bytes(t.shape[0], t.shape[1]);
  return t.numel() / t.experts * (t.f32 ? kF32Bytes : kBf16Bytes);
}

struct Split {
  int64_t gpus = 1;
  int64_t tp = 1;
  int64_t ep = 1;
  [[nodiscard]] int64_t dp() const { return gpus / tp; }
};

// GPUs among which one copy of a tensor is split. What is small or read whole stays whole.
int64_t copies_split(const ExpectedTensor& t, const ModelDimensions& d, int64_t tp) {
  switch (t.role) {
    case Role::kAttnK:
    case Role::kAttnV:
      return d.latent.kv_rank > 0 ? tp : std::min(tp, d.kv_heads);
    case Role::kNorm:
    case Role::kMoeRouter:
    case Role::kMoeLatent:
    case Role::kAttnQA:
    case Role::kAttnKvA:
    case Role::kAttnIndexer:
    case Role::kResidual:
    case Role::kMtp:
    case Role::kVision:
      return 1;
    default:
      return tp;
  }
}

int64_t bytes_on_gpu(
    const ExpectedTensor& t, const ModelDimensions& d, const Formats& formats, const Split& split
) {
  const int64_t unit = unit_bytes(t, formats);
  if (!routed(t)) return share(unit, copies_split(t, d, split.tp));
  return share(share(t.experts, split.ep) * unit, split.gpus / split.ep);
}

class Fitter {
 public:
  explicit Fitter(const FitRequest& request) : r_(request), d_(request.dimensions) {}

  FitReport run() {
    check_request();
    tensors_ = expected_tensors(d_);
    describe();
    count_parameters();
    choose_formats();
    size_weights();
    size_cache();
    if (r_.gpus) report_.verdict = judge(*r_.gpus);
    return std::move(report_);
  }

 private:
  void check_request() const {
    require(
        r_.batch >= 1 && r_.batch <= kMaxBatch, "batch is {}, expected 1 to {}", r_.batch, kMaxBatch
    );
    require(
        r_.context >= 1 && r_.context <= kUnlimitedContext,
        "context is {}, expected 1 to {}",
        r_.context,
        kUnlimitedContext
    );
    require(
        d_.max_positions == 0 || r_.context <= d_.max_positions,
        "a context of {} tokens is more than the {} that config.json allows "
        "(max_position_embeddings)",
        r_.context,
        d_.max_positions
    );
    const FitReserves& s = r_.reserves;
    require(
        s.context >= 0 && s.workspace >= 0 && s.communication >= 0 && s.activations >= -1,
        "a reserve is negative"
    );
    require(
        s.step_tokens >= 1 && s.step_tokens <= kUnlimitedContext,
        "step tokens are {}, expected 1 to {}",
        s.step_tokens,
        kUnlimitedContext
    );
  }

  void describe() {
    report_.name = r_.name;
    report_.architecture = d_.architecture_name;
    report_.model_type = d_.model_type;
    report_.family = family_name(d_.family);
    report_.layers = static_cast<int64_t>(d_.layers.size());
    report_.notes = d_.notes;
    report_.context = r_.context;
    report_.batch = r_.batch;
    report_.fp8_cache = r_.fp8_cache;
    if (d_.mtp_layers > 0 && !r_.mtp)
      report_.notes.push_back(
          "the prediction layers are in the checkpoint but not loaded; --mtp counts them as loaded"
      );
  }

  void count_parameters() {
    for (const std::string_view kind : kKinds) report_.parameters.push_back({std::string(kind)});
    for (const ExpectedTensor& t : tensors_) {
      if (t.mtp) {
        report_.mtp_total += t.numel();
        continue;
      }
      ParameterCount& line =
          *std::ranges::find(report_.parameters, kind_of(t), &ParameterCount::kind);
      const int64_t active = routed(t) ? t.numel() / t.experts * d_.moe.per_token : t.numel();
      line.total += t.numel();
      line.active += active;
      report_.total += t.numel();
      report_.active += active;
    }
    std::erase_if(report_.parameters, [](const ParameterCount& line) { return line.total == 0; });
  }

  void choose_formats() {
    report_.scheme = r_.scheme;
    report_.expert_scheme = r_.expert_scheme;
    if (r_.scheme.empty()) {
      report_.scheme = "bf16";
      if (d_.stored == StoredWeights::kBlockFp8) report_.scheme = "fp8-block";
      if (d_.stored == StoredWeights::kNvfp4) report_.scheme = "nvfp4";
      if (d_.stored == StoredWeights::kMxfp4Experts && r_.expert_scheme.empty())
        report_.expert_scheme = "mxfp4";
      if (d_.stored == StoredWeights::kOther)
        report_.notes.push_back(fmt::format(
            "config.json says that the weights are stored as \"{}\", which is not counted here: "
            "the figures are for bf16; choose another with --scheme",
            d_.stored_method
        ));
    }
    if (report_.expert_scheme.empty()) report_.expert_scheme = report_.scheme;
    formats_.dense = &weight_format_by_name(report_.scheme);
    formats_.experts = &weight_format_by_name(report_.expert_scheme);
  }

  WeightSize size_of(std::string name, const Formats& formats) const {
    WeightSize size;
    size.scheme = std::move(name);
    for (const ExpectedTensor& t : tensors_) {
      const int64_t bytes = t.experts * unit_bytes(t, formats);
      if (t.mtp) size.mtp_bytes += bytes;
      if (!t.mtp || r_.mtp) size.bytes += bytes;
    }
    return size;
  }

  void size_weights() {
    const bool mixed = formats_.dense != formats_.experts;
    std::string name = report_.scheme;
    if (mixed) name += " with " + report_.expert_scheme + " experts";
    report_.chosen = size_of(name, formats_);
    for (const WeightFormat& format : weight_formats()) {
      report_.weights.push_back(size_of(std::string(format.name), {&format, &format}));
    }
    if (mixed) report_.weights.push_back(report_.chosen);
  }

  CacheOptions cache_options(int64_t tp, bool fp8) const {
    return {fp8 ? int64_t{1} : int64_t{2}, tp, r_.mtp, r_.ignore_windows};
  }

  void size_cache() {
    for (const bool fp8 : {false, true}) {
      const CacheOptions options = cache_options(1, fp8);
      report_.token_bytes[fp8 ? 1 : 0] = cache_bytes_per_token(d_, options);
      report_.fixed_bytes[fp8 ? 1 : 0] = cache_bytes_fixed(d_, options);
      report_.sequence_bytes[fp8 ? 1 : 0] = cache_bytes(d_, options, r_.context);
    }
  }

  Split split_of(int64_t gpus) const {
    Split split;
    split.gpus = gpus;
    split.tp = r_.tp > 0 ? r_.tp : std::gcd(gpus, d_.heads);
    split.ep = r_.ep > 0 ? r_.ep : 1;
    require(
        gpus % split.tp == 0, "tensor parallel size {} does not divide {} GPUs", split.tp, gpus
    );
    require(
        d_.heads % split.tp == 0,
        "tensor parallel size {} does not divide the model's {} attention heads: engines refuse it",
        split.tp,
        d_.heads
    );
    require(
        r_.ep == 0 || d_.moe.experts > 0, "expert parallel size {}: the model has no experts", r_.ep
    );
    require(
        gpus % split.ep == 0, "expert parallel size {} does not divide {} GPUs", split.ep, gpus
    );
    return split;
  }

  int64_t weights_on_gpu(const Split& split) const {
    int64_t bytes = 0;
    for (const ExpectedTensor& t : tensors_) {
      if (!t.mtp || r_.mtp) bytes += bytes_on_gpu(t, d_, formats_, split);
    }
    return bytes;
  }

  // Largest live tensors of a step: the residual twice, and what the widest part of a layer holds
  // at once; logits and probabilities of a batch.
  int64_t activation_bytes(const Split& split, int64_t sequences) const {
    if (r_.reserves.activations >= 0) return r_.reserves.activations;
    const int64_t head = d_.latent.kv_rank > 0
                             ? 2 * (d_.latent.nope + d_.latent.rope) + 2 * d_.latent.value
                             : 2 * d_.head_dim;
    const int64_t kv = d_.latent.kv_rank > 0 ? 0 : 2 * d_.kv_heads * d_.head_dim;
    int64_t widest = share(d_.heads * head + kv, split.tp);
    widest = std::max(widest, share(3 * d_.intermediate, split.tp));
    if (d_.moe.experts > 0) {
      // Gate and up, their product, and the result in front of the sum over experts.
      const int64_t width = share(3 * d_.moe.intermediate, split.gpus / split.ep);
      widest = std::max(widest, d_.moe.per_token * (width + d_.moe.hidden));
    }
    const int64_t layer = product(r_.reserves.step_tokens, (2 * d_.hidden + widest) * kBf16Bytes);
    return layer + 2 * sequences * share(d_.vocab, split.tp) * kF32Bytes;
  }

  FitVerdict place(const GpuSet& gpus, const Split& split, int64_t context, int64_t batch) const {
    FitVerdict v;
    v.gpus = gpus;
    v.tp = split.tp;
    v.ep = split.ep;
    v.dp = split.dp();
    v.memory = gpus.gpu.bytes();
    v.weights = weights_on_gpu(split);
    v.context = r_.reserves.context;
    v.workspace = r_.reserves.workspace;
    v.communication = gpus.count > 1 ? r_.reserves.communication : 0;
    v.sequences = share(batch, v.dp);
    v.activations = activation_bytes(split, v.sequences);
    v.room = v.memory - v.weights - v.context - v.workspace - v.communication - v.activations;
    v.cache = product(v.sequences, cache_bytes(d_, cache_options(split.tp, r_.fp8_cache), context));
    v.fits = v.cache <= v.room;
    return v;
  }

  // Room for the cache depends on the batch alone (logits), so weights are not summed again.
  bool still_fits(const FitVerdict& v, const Split& split, int64_t context, int64_t batch) const {
    const int64_t sequences = share(batch, v.dp);
    const int64_t room = v.room + v.activations - activation_bytes(split, sequences);
    const int64_t one = cache_bytes(d_, cache_options(split.tp, r_.fp8_cache), context);
    return room > 0 && (one == 0 || sequences <= room / one);
  }

  template <typename Fits>
  static int64_t largest(int64_t limit, const Fits& fits) {
    int64_t low = 0;
    int64_t high = limit;
    while (low < high) {
      const int64_t middle = low + (high - low + 1) / 2;
      if (fits(middle)) {
        low = middle;
      } else {
        high = middle - 1;
      }
    }
    return low;
  }

  FitVerdict judge(const GpuSet& gpus) const {
    const Split split = split_of(gpus.count);
    FitVerdict v = place(gpus, split, r_.context, r_.batch);
    const int64_t limit = d_.max_positions > 0 ? d_.max_positions : kUnlimitedContext;
    v.max_context = largest(limit, [&](int64_t n) { return still_fits(v, split, n, r_.batch); });
    v.model_limit = v.max_context == limit;
    v.max_batch =
        largest(kMaxBatch, [&](int64_t n) { return still_fits(v, split, r_.context, n); });
    v.smallest_count = smallest_count(gpus.gpu);
    v.reason = reason_of(v);
    return v;
  }

  int64_t smallest_count(const Gpu& gpu) const {
    for (int64_t count = 1; count <= kMaxCount; count *= 2) {
      Split split;
      split.gpus = count;
      split.tp = std::gcd(count, d_.heads);
      if (place({gpu, count}, split, r_.context, r_.batch).fits) return count;
    }
    return 0;
  }

  static std::string size_text(int64_t bytes) { return format_bytes(static_cast<double>(bytes)); }

  std::string reason_of(const FitVerdict& v) const {
    if (v.fits)
      return fmt::format(
          "{} of {} are left on each GPU", size_text(v.room - v.cache), size_text(v.memory)
      );
    if (v.weights > v.memory)
      return fmt::format(
          "the weights alone take {} on each GPU, which has {}",
          size_text(v.weights),
          size_text(v.memory)
      );
    if (v.room <= 0 || v.max_batch == 0 || v.max_context == 0)
      return fmt::format(
          "the weights take {} of {} on each GPU and leave no room to serve: {} are needed besides "
          "for runtime and activations, and {} for the cache of one sequence",
          size_text(v.weights),
          size_text(v.memory),
          size_text(v.context + v.workspace + v.communication + v.activations),
          size_text(v.cache / std::max<int64_t>(1, v.sequences))
      );
    return fmt::format(
        "{} are left for the cache on each GPU, {} are needed",
        size_text(v.room),
        size_text(v.cache)
    );
  }

  const FitRequest& r_;
  const ModelDimensions& d_;
  std::vector<ExpectedTensor> tensors_;
  Formats formats_;
  FitReport report_;
};

}  // namespace

FitReport fit(const FitRequest& request) {
  return Fitter(request).run();
}

}  // namespace hone
