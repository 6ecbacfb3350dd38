#include "quant/apply.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/base/threads.h"
#include "core/format/e8m0.h"
#include "core/format/load.h"
#include "core/io/dialect.h"
#include "quant/method/rtn.h"
#include "quant/ordered_output.h"
#include "quant/source.h"

namespace hone {
namespace {

constexpr std::string_view kLmHead = "lm_head";
// The search of a global scale looks at every row of small groups, at every eighth of large ones.
constexpr int64_t kSearchedRows = 256;
constexpr int64_t kLargestRowStep = 8;

QuantizedModule described(const PlanEntry& e, Format format, ActivationRule activation) {
  return {e.module, format, activation, e.shape.dim(0), e.shape.dim(1)};
}

QuantizedModule described(const PlanEntry& e) {
  return described(e, e.scheme->format, e.scheme->activation);
}

std::span<const std::byte> bytes_of(const float& value) {
  return std::as_bytes(std::span(&value, 1));
}

// One run over one checkpoint.
class Application {
 public:
  Application(const Checkpoint& source, const Plan& plan, const ApplyOptions& options)
      : source_(source),
        plan_(plan),
        options_(options),
        source_dialect_(detect_dialect(source)),
        output_dialect_(dialect_by_name(plan.dialect)),
        pool_(ThreadPool::global()) {
    for (const PlanEntry& e : plan.entries) {
      if (e.scheme != nullptr && has_global_scale(e.scheme->format))
        groups_[group_name(e)].push_back(&e);
    }
  }

  [[nodiscard]] std::vector<TensorSpec> specs() const {
    std::vector<TensorSpec> specs;
    for (const PlanEntry& e : plan_.entries) {
      if (e.scheme != nullptr) {
        for (DialectPart& part : output_dialect_.parts(described(e))) {
          specs.push_back(std::move(part.spec));
        }
      } else if (e.to_bf16) {
        specs.push_back({e.tensor, DType::kBF16, e.shape});
      } else {
        for (const std::string& name : copied_tensors(e)) {
          const TensorView view = source_.tensor(name);
          specs.push_back({name, view.type, view.shape});
        }
      }
    }
    return specs;
  }

  void write(CheckpointWriter& writer) {
    int64_t total = 0;
    for (const PlanEntry& e : plan_.entries) {
      total += passes(e) * e.source_bytes;
    }
    Progress progress("quantize", total, "B");
    progress_ = &progress;
    OrderedOutput output(writer);
    for (const PlanEntry& e : plan_.entries) {
      if (e.scheme != nullptr) {
        encode(e, output);
      } else if (e.to_bf16) {
        decode_to_bf16(e, output);
      } else {
        copy(e, output);
      }
    }
    output.finish();
    progress.finish();
  }

 private:
  // How often a tensor is read.
  [[nodiscard]] int64_t passes(const PlanEntry& e) const {
    if (e.scheme == nullptr || !has_global_scale(e.scheme->format)) return 1;
    return global_scale_candidates(e.scheme->format, options_.scale, 1.0F).size() > 1 ? 3 : 2;
  }

  static std::string group_name(const PlanEntry& e) {
    return e.fused_group.empty() ? e.module : e.fused_group;
  }

  [[nodiscard]] std::vector<std::string> copied_tensors(const PlanEntry& e) const {
    if (!e.stored) return {e.tensor};
    return stored_parts(source_, *source_dialect_, e.module);
  }

  [[nodiscard]] WeightRows rows_of(const PlanEntry& e) const {
    if (e.stored) return WeightRows(source_, e.tensor, *source_dialect_, e.module);
    return WeightRows(source_, e.tensor);
  }

  // Calls body(slab, row0, n) over the tensor; pages are read ahead, and dropped behind when
  // `drop` is set.
  template <typename Body>
  void for_slabs(const PlanEntry& e, WeightRows& weight, bool drop, Body body) {
    const int64_t step = weight.slab_rows(options_.slab_bytes);
    for (int64_t row = 0; row < weight.rows(); row += step) {
      throw_if_cancelled();
      const int64_t n = std::min(step, weight.rows() - row);
      weight.prefetch(row + n, step);
      body(weight.slab(row, n, pool_), row, n);
      if (drop) weight.drop(row, n);
      progress_->advance(e.source_bytes * n / weight.rows());
    }
  }

  // One pass over a whole fused group.
  template <typename Body>
  void for_group(const std::string& name, Body body) {
    int64_t bytes = 0;
    for (const PlanEntry* e : groups_.at(name)) bytes += e->source_bytes;
    // The pages of a small group are still mapped when the encode pass comes to them.
    const bool drop = bytes > 8 * options_.slab_bytes;
    for (const PlanEntry* e : groups_.at(name)) {
      WeightRows weight = rows_of(*e);
      for_slabs(*e, weight, drop, [&](const RowSlab& slab, int64_t, int64_t) {
        body(*e, weight, slab);
      });
    }
  }

  // The global scale of a fused group; its amax pass is also the scan for NaN and infinities.
  float global_scale(const std::string& name) {
    const auto known = global_scales_.find(name);
    if (known != global_scales_.end()) return known->second;
    float amax = 0;
    for_group(name, [&](const PlanEntry&, const WeightRows& weight, const RowSlab& slab) {
      const AmaxResult result = slab_amax(slab, pool_);
      if (result.bad) weight.refuse(*result.bad);
      amax = std::max(amax, result.amax);
    });
    const Format format = groups_.at(name).front()->scheme->format;
    float scale = rtn_global_scale(format, amax);
    if (options_.scale != ScaleChoice::kAmax && format == Format::kNvfp4)
      scale = search_global_scale(name, amax);
    global_scales_.emplace(name, scale);
    return scale;
  }

  // The candidate under which the group's blocks err least, judged by a sample of the rows.
  float search_global_scale(const std::string& name, float amax) {
    const std::vector<float> candidates =
        global_scale_candidates(Format::kNvfp4, options_.scale, amax);
    if (candidates.size() == 1) return candidates.front();
    int64_t rows = 0;
    for (const PlanEntry* e : groups_.at(name)) rows += e->shape.dim(0);
    const int64_t step = std::clamp<int64_t>(rows / kSearchedRows, 1, kLargestRowStep);
    std::vector<double> errors(candidates.size(), 0.0);
    for_group(name, [&](const PlanEntry& e, const WeightRows&, const RowSlab& slab) {
      SearchOptions options = search_options(e);
      for (size_t i = 0; i < candidates.size(); ++i) {
        options.global_scale = candidates[i];
        add_search_error(slab, options, step, pool_, errors[i]);
      }
    });
    return candidates[static_cast<size_t>(std::ranges::min_element(errors) - errors.begin())];
  }

  [[nodiscard]] SearchOptions search_options(const PlanEntry& e) const {
    SearchOptions options;
    options.format = e.scheme->format;
    options.choice = options_.scale;
    options.scale_kind = options_.scale_kind;
    const auto weights = options_.column_weights.find(e.module);
    if (weights != options_.column_weights.end()) options.weights = weights->second;
    return options;
  }

  void encode(const PlanEntry& e, OrderedOutput& output) {
    RtnOptions options;
    options.format = e.scheme->format;
    options.scale_kind = options_.scale_kind;
    if (has_global_scale(options.format)) options.global_scale = global_scale(group_name(e));
    SearchOptions search = search_options(e);
    search.global_scale = options.global_scale;

    const std::vector<DialectPart> parts = output_dialect_.parts(described(e));
    check(
        !parts.empty() && parts.front().kind == DialectPart::Kind::kCodes,
        "dialect {} does not put the codes of {} first",
        plan_.dialect,
        e.module
    );
    WeightRows weight = rows_of(e);
    const EncodedSize whole = encoded_size(options.format, weight.rows(), weight.cols());
    std::vector<std::byte> scales = output.buffer(static_cast<size_t>(whole.block_scales));
    for_slabs(e, weight, true, [&](const RowSlab& slab, int64_t row, int64_t n) {
      const EncodedSize before = encoded_size(options.format, row, weight.cols());
      const EncodedSize size = encoded_size(options.format, n, weight.cols());
      std::vector<std::byte> codes = output.buffer(static_cast<size_t>(size.codes));
      std::byte* block_scales = scales.data() + before.block_scales;
      const auto bad = options_.scale == ScaleChoice::kAmax
                           ? rtn_encode(slab, options, codes.data(), block_scales, pool_)
                           : search_encode(slab, search, codes.data(), block_scales, pool_);
      if (bad) weight.refuse(*bad);
      output.append(parts.front().spec.name, std::move(codes));
    });
    for (size_t i = 1; i < parts.size(); ++i) {
      write_part(e, parts[i], options.global_scale, scales, output);
    }
  }

  void write_part(
      const PlanEntry& e,
      const DialectPart& part,
      float global_scale,
      std::vector<std::byte>& scales,
      OrderedOutput& output
  ) {
    switch (part.kind) {
      case DialectPart::Kind::kCodes:
        throw InternalError(part.spec.name + ": a second tensor of codes");
      case DialectPart::Kind::kBlockScales:
        check(
            static_cast<int64_t>(scales.size()) == byte_size(part.spec.type, part.spec.shape),
            "{}: {} bytes of scales for a tensor {}",
            part.spec.name,
            scales.size(),
            part.spec.shape.str()
        );
        output.append(part.spec.name, std::move(scales));
        return;
      case DialectPart::Kind::kGlobalScale:
        append_scalar(part, global_scale, output);
        return;
      case DialectPart::Kind::kInputScale:
        append_scalar(part, input_scale(e), output);
        return;
    }
  }

  [[nodiscard]] float input_scale(const PlanEntry& e) const {
    const auto it = options_.input_scales.find(e.module);
    require(
        it != options_.input_scales.end(),
        "{} quantizes the activations of {}, but there is no calibrated input scale; give the "
        "statistics of hone calibrate (--stats), or use scheme nvfp4a16",
        e.scheme->name,
        e.module
    );
    return it->second;
  }

  // `multiplier` is one that survives its reciprocal (nvfp4_global_scale).
  static void append_scalar(const DialectPart& part, float multiplier, OrderedOutput& output) {
    const float value = part.divisor ? 1.0F / multiplier : multiplier;
    std::vector<std::byte> bytes = output.buffer(sizeof value);
    std::ranges::copy(bytes_of(value), bytes.begin());
    output.append(part.spec.name, std::move(bytes));
  }

  void decode_to_bf16(const PlanEntry& e, OrderedOutput& output) {
    WeightRows weight = rows_of(e);
    for_slabs(e, weight, true, [&](const RowSlab& slab, int64_t, int64_t n) {
      std::vector<std::byte> bytes =
          output.buffer(static_cast<size_t>(byte_size(DType::kBF16, {n, weight.cols()})));
      pool_.parallel_for(n, 16, [&](int64_t begin, int64_t end) {
        const auto* values = reinterpret_cast<const float*>(slab.row(begin));
        std::byte* out = bytes.data() + byte_size(DType::kBF16, {begin, weight.cols()});
        store_floats(DType::kBF16, values, (end - begin) * weight.cols(), out);
      });
      output.append(e.tensor, std::move(bytes));
    });
  }

  // A kept weight is scanned on the way: a NaN in an embedding ruins the model as well.
  static bool is_scanned(const PlanEntry& e) {
    const bool dense = e.dtype == DType::kBF16 || e.dtype == DType::kF16 || e.dtype == DType::kF32;
    return dense && !e.stored && e.role != Role::kOther && e.shape.numel() > 0;
  }

  void copy(const PlanEntry& e, OrderedOutput& output) {
    if (is_scanned(e)) {
      WeightRows weight(source_, e.tensor);
      for_slabs(e, weight, false, [&](const RowSlab& slab, int64_t row, int64_t n) {
        const AmaxResult result = slab_amax(slab, pool_);
        if (result.bad) weight.refuse(*result.bad);
        const int64_t at = row * slab.row_bytes();
        append_copy(e.tensor, {slab.data, static_cast<size_t>(n * slab.row_bytes())}, at, output);
      });
      return;
    }
    for (const std::string& name : copied_tensors(e)) {
      const std::span<const std::byte> bytes = source_.tensor(name).bytes();
      const auto step = static_cast<size_t>(options_.slab_bytes);
      for (size_t at = 0; at < bytes.size(); at += step) {
        throw_if_cancelled();
        const size_t n = std::min(step, bytes.size() - at);
        append_copy(name, bytes.subspan(at, n), static_cast<int64_t>(at), output);
        progress_->advance(static_cast<int64_t>(n));
      }
    }
  }

  void append_copy(
      const std::string& name, std::span<const std::byte> bytes, int64_t at, OrderedOutput& output
  ) {
    const auto size = static_cast<int64_t>(bytes.size());
    output.append(name, bytes, [this, name, at, size] { source_.drop(name, at, size); });
  }

  const Checkpoint& source_;
  const Plan& plan_;
  const ApplyOptions& options_;
  const Dialect* source_dialect_;
  const Dialect& output_dialect_;
  ThreadPool& pool_;
  Progress* progress_ = nullptr;
  std::map<std::string, std::vector<const PlanEntry*>> groups_;  // with a global scale
  std::map<std::string, float> global_scales_;                   // by group
};

// Are all scales of a stored block FP8 module powers of two?
bool has_power_of_two_scales(const Checkpoint& source, const std::string& module) {
  const QuantizedTensor tensor = detect_dialect(source)->read(source, module);
  return std::ranges::all_of(tensor.block_scales.view().as<float>(), is_e8m0);
}

// The dialect says scale_fmt "ue8m0" when that is true of every module.
void set_power_of_two(
    const Checkpoint& source,
    const Plan& plan,
    ScaleKind kind,
    std::vector<QuantizedModule>& modules
) {
  std::set<std::string_view> stored;
  for (const PlanEntry& e : plan.entries) {
    if (e.stored && e.scheme == nullptr) stored.insert(e.module);
  }
  for (QuantizedModule& m : modules) {
    if (m.format != Format::kBlockFp8) continue;
    m.power_of_two_scales = stored.contains(m.module) ? has_power_of_two_scales(source, m.module)
                                                      : kind == ScaleKind::kUe8m0;
  }
}

void write_documents(
    const Checkpoint& source, const Plan& plan, ScaleKind kind, CheckpointWriter& writer
) {
  constexpr const char* kQuantization = "quantization_config";
  const Dialect& dialect = dialect_by_name(plan.dialect);
  OutputModules modules = output_modules(plan);
  set_power_of_two(source, plan, kind, modules.quantized);
  Json config = source.config();
  config.erase(kQuantization);
  // The source may have had it here; engines that find two believe either.
  if (const auto text = config.find("text_config"); text != config.end() && text->is_object())
    text->erase(kQuantization);
  QuantizedContents contents{modules.quantized, modules.unquantized};
  // The scales of the KV cache are among the tensors that are copied, under this dialect's names.
  const Dialect* source_dialect = detect_dialect(source);
  if (source_dialect == &dialect) contents.kv_cache = dialect.kv_cache(source);
  config[kQuantization] = dialect.quantization_config(contents);
  writer.write_json("config.json", config);
  std::set<std::string> own = {"README.md", "hone.json", "hone.run.json", "config.json"};
  for (const auto& [name, document] : dialect.extra_files(contents)) {
    writer.write_json(name, document);
    own.insert(name);
  }
  for (const std::string& name : source.side_files()) {
    if (!own.contains(name)) writer.copy_side_file(source.folder() / name);
  }
}

}  // namespace

OutputModules output_modules(const Plan& plan) {
  OutputModules modules;
  bool has_head = false;
  for (const PlanEntry& e : plan.entries) {
    has_head = has_head || e.role == Role::kLmHead;
    if (e.scheme != nullptr) {
      modules.quantized.push_back(described(e));
    } else if (e.stored && !e.to_bf16) {
      modules.quantized.push_back(described(e, *e.stored, e.stored_activation));
    } else if (!e.module.empty() && e.role != Role::kEmbedding && e.role != Role::kNorm && e.shape.rank() >= 2) {
      modules.unquantized.push_back(e.module);
    } else if (e.shape.rank() == 3 && e.role != Role::kOther) {
      modules.unquantized.push_back(e.tensor.substr(0, e.tensor.rfind('.')));
    }
  }
  // A tied head has no tensor, but engines build the layer and ask whether it is quantized.
  if (!has_head) modules.unquantized.emplace_back(kLmHead);
  std::set<std::string> seen;
  std::erase_if(modules.unquantized, [&](const std::string& m) { return !seen.insert(m).second; });
  return modules;
}

std::unique_ptr<CheckpointWriter> apply_plan(
    const Checkpoint& source,
    const Plan& plan,
    const std::filesystem::path& output,
    const ApplyOptions& options
) {
  Application application(source, plan, options);
  auto writer = std::make_unique<CheckpointWriter>(
      output, application.specs(), CheckpointWriter::Options{options.max_shard_bytes}
  );
  application.write(*writer);
  write_documents(source, plan, options.scale_kind, *writer);
  writer->close();
  return writer;
}

}  // namespace hone
