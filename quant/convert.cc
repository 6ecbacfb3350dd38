#include "quant/convert.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/progress.h"
#include "core/base/threads.h"
#include "core/format/load.h"
#include "core/io/dialect.h"
#include "quant/ordered_output.h"
#include "quant/source.h"
#include "runtime/model/config.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr std::string_view kWeight = ".weight";
constexpr const char* kQuantization = "quantization_config";
constexpr const char* kQuantFile = "hf_quant_config.json";

// What happens to one tensor, or to one module that is stored quantized.
struct Item {
  SourceTensor source;
  std::string module;              // set for "<module>.weight"
  std::vector<std::string> parts;  // of a quantized module that is copied
  bool decode = false;             // quantized to BF16
  bool merge = false;              // plus the adapter's delta
  bool replace = false;            // the adapter's tensor instead
  DType output = DType::kBF16;     // where it is written anew

  [[nodiscard]] bool anew() const { return decode || merge || replace; }
};

bool is_dense_float(DType type) {
  return type == DType::kBF16 || type == DType::kF16 || type == DType::kF32;
}

class Converter {
 public:
  Converter(const Checkpoint& source, const ConvertOptions& options)
      : source_(source),
        options_(options),
        dialect_(detect_dialect(source)),
        pool_(ThreadPool::global()) {
    for (SourceTensor& tensor : list_source(source, dialect_)) add(std::move(tensor));
    if (options.lora != nullptr) match_adapter();
    require(
        !options.to_bf16 || counts_.decoded > 0 || options.lora != nullptr,
        "{}: nothing is quantized there, so there is nothing to decode",
        source.folder().string()
    );
  }

  [[nodiscard]] std::vector<TensorSpec> specs() const {
    std::vector<TensorSpec> specs;
    for (const Item& item : items_) {
      if (item.anew()) {
        specs.push_back({item.source.name, item.output, item.source.shape});
        continue;
      }
      for (const std::string& name : item.parts) {
        const TensorView view = source_.tensor(name);
        specs.push_back({name, view.type, view.shape});
      }
    }
    return specs;
  }

  void write(CheckpointWriter& writer) {
    int64_t total = 0;
    for (const Item& item : items_) total += item.source.bytes;
    Progress progress("convert", total, "B");
    progress_ = &progress;
    OrderedOutput output(writer);
    for (const Item& item : items_) {
      if (item.replace) {
        write_replacement(item, output);
      } else if (item.anew()) {
        write_anew(item, output);
      } else {
        copy(item, output);
      }
    }
    output.finish();
    progress.finish();
  }

  void write_documents(CheckpointWriter& writer) const {
    Json config = source_.config();
    const bool still_quantized = dialect_ != nullptr && !options_.to_bf16;
    if (!still_quantized) {
      config.erase(kQuantization);
      for (const char* key : {"torch_dtype", "dtype"}) {
        if (options_.to_bf16 && config.contains(key)) config[key] = "bfloat16";
      }
    }
    writer.write_json("config.json", config);
    if (still_quantized && fs::exists(source_.folder() / kQuantFile))
      writer.copy_side_file(source_.folder() / kQuantFile);
    for (const std::string& name : source_.side_files())
      writer.copy_side_file(source_.folder() / name);
  }

  [[nodiscard]] const ConvertCounts& counts() const { return counts_; }

 private:
  void add(SourceTensor&& tensor) {
    Item item;
    item.source = std::move(tensor);
    const std::string& name = item.source.name;
    if (name.ends_with(kWeight)) item.module = name.substr(0, name.size() - kWeight.size());
    if (item.source.stored) {
      item.decode = options_.to_bf16;
      item.parts = stored_parts(source_, *dialect_, item.module);
      if (item.decode) ++counts_.decoded;
    } else {
      item.parts = {name};
      item.output = item.source.dtype;
    }
    items_.push_back(std::move(item));
  }

  // Every part of the adapter must find its weight; one that does not is an adapter of another
  // model.
  void match_adapter() {
    std::map<std::string, Item*> by_tensor;
    for (Item& item : items_) by_tensor[item.source.name] = &item;
    const LoraAdapter& lora = *options_.lora;
    for (const std::string& module : lora.modules()) {
      Item& item = find(by_tensor, module + std::string(kWeight));
      const Shape& shape = item.source.shape;
      require(shape.rank() == 2, "{}: {} is no matrix", lora.folder().string(), item.source.name);
      lora.check_shape(module, shape.dim(0), shape.dim(1));
      require(
          !item.source.stored || item.decode,
          "{} is quantized ({}); a delta cannot be added to its codes: add --to bf16 and quantize "
          "the "
          "result, or merge into the original checkpoint",
          item.source.name,
          item.source.stored ? format_name(*item.source.stored) : ""
      );
      require(
          item.decode || is_dense_float(item.source.dtype),
          "{} is {}, a delta needs BF16, F16 or F32",
          item.source.name,
          dtype_name(item.source.dtype)
      );
      item.merge = true;
      ++counts_.merged;
    }
    for (const std::string& name : lora.replacements()) {
      Item& item = find(by_tensor, name);
      const TensorView view = lora.replacement(name);
      require(
          view.shape == item.source.shape && !item.source.stored,
          "{}: {} is {}, the model's is {}{}",
          lora.folder().string(),
          name,
          view.shape.str(),
          item.source.shape.str(),
          item.source.stored ? " and quantized" : ""
      );
      item.replace = true;
      ++counts_.replaced;
    }
  }

  Item& find(const std::map<std::string, Item*>& by_tensor, const std::string& name) const {
    const auto it = by_tensor.find(name);
    if (it != by_tensor.end()) return *it->second;
    const auto identity = ConfigIdentity::parse(source_.config(), "config.json");
    require(
        !(name.starts_with("lm_head.") && identity.tied_embeddings),
        "the adapter changes {}, which this model ties to its embedding (tie_word_embeddings in "
        "config.json): untie it before merging",
        name
    );
    throw UsageError(fmt::format(
        "{}: the adapter changes {}, which {} does not have; is it an adapter of another model?",
        options_.lora->folder().string(),
        name,
        source_.folder().string()
    ));
  }

  [[nodiscard]] WeightRows rows_of(const Item& item) const {
    if (item.source.stored) return {source_, item.source.name, *dialect_, item.module};
    return {source_, item.source.name};
  }

  void write_anew(const Item& item, OrderedOutput& output) {
    WeightRows weight = rows_of(item);
    const int64_t step = weight.slab_rows(options_.slab_bytes);
    const int64_t cols = weight.cols();
    for (int64_t row = 0; row < weight.rows(); row += step) {
      throw_if_cancelled();
      const int64_t n = std::min(step, weight.rows() - row);
      weight.prefetch(row + n, step);
      const RowSlab slab = weight.slab(row, n, pool_);
      std::vector<std::byte> bytes =
          output.buffer(static_cast<size_t>(byte_size(item.output, {n, cols})));
      const auto rows = [&](int64_t begin, int64_t end) {
        convert_rows(item, slab, begin, end - begin, bytes.data());
      };
      pool_.parallel_for(n, 16, rows);
      const RowSlab written{item.output, bytes.data(), n, cols, row};
      const AmaxResult result = slab_amax(written, pool_);
      if (result.bad) weight.refuse(*result.bad);
      output.append(item.source.name, std::move(bytes));
      weight.drop(row, n);
      const int64_t all = item.source.bytes;
      progress_->advance(all * (row + n) / weight.rows() - all * row / weight.rows());
    }
  }

  void convert_rows(const Item& item, const RowSlab& slab, int64_t begin, int64_t n, std::byte* out)
      const {
    const int64_t count = n * slab.cols;
    std::vector<float> values(static_cast<size_t>(count));
    load_floats(slab.type, slab.row(begin), count, values.data());
    if (item.merge) options_.lora->add_rows(item.module, slab.row0 + begin, n, values.data());
    store_floats(
        item.output, values.data(), count, out + byte_size(item.output, {begin, slab.cols})
    );
  }

  void write_replacement(const Item& item, OrderedOutput& output) {
    const TensorView view = options_.lora->replacement(item.source.name);
    std::vector<float> values(static_cast<size_t>(view.numel()));
    load_floats(view.type, view.bytes().data(), view.numel(), values.data());
    std::vector<std::byte> bytes =
        output.buffer(static_cast<size_t>(byte_size(item.output, item.source.shape)));
    store_floats(item.output, values.data(), view.numel(), bytes.data());
    output.append(item.source.name, std::move(bytes));
    progress_->advance(item.source.bytes);
  }

  void copy(const Item& item, OrderedOutput& output) {
    for (const std::string& name : item.parts) {
      ++counts_.copied;
      const std::span<const std::byte> bytes = source_.tensor(name).bytes();
      const auto step = static_cast<size_t>(options_.slab_bytes);
      for (size_t at = 0; at < bytes.size(); at += step) {
        throw_if_cancelled();
        const size_t n = std::min(step, bytes.size() - at);
        const auto offset = static_cast<int64_t>(at);
        const auto size = static_cast<int64_t>(n);
        output.append(name, bytes.subspan(at, n), [this, name, offset, size] {
          source_.drop(name, offset, size);
        });
        progress_->advance(size);
      }
    }
  }

  const Checkpoint& source_;
  const ConvertOptions& options_;
  const Dialect* dialect_;
  ThreadPool& pool_;
  Progress* progress_ = nullptr;
  std::vector<Item> items_;
  ConvertCounts counts_;
};

}  // namespace

Conversion convert_checkpoint(
    const Checkpoint& source, const fs::path& output, const ConvertOptions& options
) {
  Converter converter(source, options);
  const std::vector<TensorSpec> specs = converter.specs();
  Conversion result;
  result.writer = std::make_unique<CheckpointWriter>(
      output, specs, CheckpointWriter::Options{options.max_shard_bytes}
  );
  converter.write(*result.writer);
  converter.write_documents(*result.writer);
  result.writer->close();
  result.counts = converter.counts();
  for (const TensorSpec& spec : specs)
    result.counts.output_bytes += byte_size(spec.type, spec.shape);
  return result;
}

}  // namespace hone
