#include "calibrate/stats/stats.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "core/base/error.h"
#include "core/io/hdf5.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

constexpr const char* kNames = "modules/name";
constexpr const char* kRows = "modules/rows";
constexpr const char* kCols = "modules/cols";
constexpr const char* kTokens = "modules/tokens";
constexpr const char* kInputAmax = "modules/input_amax";
constexpr const char* kChannelAmax = "channels/amax";
constexpr const char* kChannelAmaxOffset = "channels/amax_offset";
constexpr const char* kMeanSquare = "channels/mean_square";
constexpr const char* kMeanSquareOffset = "channels/mean_square_offset";
constexpr const char* kSensitivity = "sensitivity";

template <typename T>
TensorView view_of(const std::vector<T>& values) {
  return {
      DTypeOf<T>::value,
      Shape{static_cast<int64_t>(values.size())},
      reinterpret_cast<const std::byte*>(values.data())};
}

// HDF5 has no use for data sets without elements: they are left out and read back as empty.
template <typename T>
void write_vector(Hdf5Writer& file, const std::string& name, const std::vector<T>& values) {
  if (!values.empty()) file.write(name, view_of(values));
}

template <typename T>
std::vector<T> read_vector(const Hdf5Reader& file, const fs::path& path, const std::string& name) {
  if (!file.contains(name)) return {};
  const Tensor tensor = file.read(name);
  require_data(
      tensor.type() == DTypeOf<T>::value && tensor.shape().rank() == 1,
      "{}: data set {} is {} {}, expected {} of rank 1",
      path.string(),
      name,
      dtype_name(tensor.type()),
      tensor.shape().str(),
      dtype_name(DTypeOf<T>::value)
  );
  const std::span<const T> values = std::as_const(tensor).template as<T>();
  return {values.begin(), values.end()};
}

void require_size(const fs::path& path, const char* name, size_t found, size_t expected) {
  require_data(
      found == expected,
      "{}: data set {} has {} elements, expected {}",
      path.string(),
      name,
      found,
      expected
  );
}

bool is_magnitude(double value) {
  return std::isfinite(value) && value >= 0;
}

template <typename T>
void require_magnitudes(
    const fs::path& path, const std::string& module, const char* what, const std::vector<T>& values
) {
  for (size_t i = 0; i < values.size(); ++i) {
    require_data(
        is_magnitude(values[i]),
        "{}: module {}: {}[{}] is {}, expected a finite value >= 0",
        path.string(),
        module,
        what,
        i,
        values[i]
    );
  }
}

void require_channels(
    const fs::path& path, const std::string& module, const char* what, size_t found, int64_t cols
) {
  require_data(
      found == 0 || found == static_cast<size_t>(cols),
      "{}: module {}: {} has {} channels, expected {} (in_features)",
      path.string(),
      module,
      what,
      found,
      cols
  );
}

void validate(const fs::path& path, const std::string& name, const ModuleStats& stats) {
  require_data(
      stats.rows >= 0 && stats.cols >= 0 && stats.tokens >= 0,
      "{}: module {}: rows {}, cols {}, tokens {}: expected no negative sizes",
      path.string(),
      name,
      stats.rows,
      stats.cols,
      stats.tokens
  );
  require_magnitudes(path, name, "input_amax", std::vector<float>{stats.input_amax});
  require_channels(path, name, "input_channel_amax", stats.input_channel_amax.size(), stats.cols);
  require_channels(path, name, "input_mean_square", stats.input_mean_square.size(), stats.cols);
  require_magnitudes(path, name, "input_channel_amax", stats.input_channel_amax);
  require_magnitudes(path, name, "input_mean_square", stats.input_mean_square);
  for (const auto& [format, value] : stats.sensitivity) {
    require_data(
        std::isfinite(value.kl_mean) && is_magnitude(value.kl_stderr),
        "{}: module {}: sensitivity to {} is {} +- {}, expected finite values",
        path.string(),
        name,
        format,
        value.kl_mean,
        value.kl_stderr
    );
  }
}

// One row per (module, format) pair.
struct SensitivityColumns {
  std::vector<int64_t> module;  // index into modules/name
  std::vector<double> kl_mean;
  std::vector<double> kl_stderr;
};

// Values of all modules one after another; module i owns [offset[i], offset[i + 1]).
template <typename T>
struct Ragged {
  std::vector<T> values;
  std::vector<int64_t> offset{0};

  void append(const std::vector<T>& row) {
    values.insert(values.end(), row.begin(), row.end());
    offset.push_back(static_cast<int64_t>(values.size()));
  }
  [[nodiscard]] std::vector<T> row(size_t i) const {
    return {values.begin() + offset[i], values.begin() + offset[i + 1]};
  }
};

template <typename T>
Ragged<T> read_ragged(
    const Hdf5Reader& file, const fs::path& path, const char* values, const char* offset, size_t n
) {
  Ragged<T> ragged;
  ragged.values = read_vector<T>(file, path, values);
  ragged.offset = read_vector<int64_t>(file, path, offset);
  require_size(path, offset, ragged.offset.size(), n + 1);
  const auto size = static_cast<int64_t>(ragged.values.size());
  int64_t last = 0;
  for (size_t i = 0; i <= n; ++i) {
    const int64_t value = ragged.offset[i];
    require_data(
        value >= last && value <= size && (i > 0 || value == 0) && (i < n || value == size),
        "{}: data set {}: element {} is {}, expected offsets rising from 0 to {}",
        path.string(),
        offset,
        i,
        value,
        size
    );
    last = value;
  }
  return ragged;
}

void read_sensitivity(
    const Hdf5Reader& file,
    const fs::path& path,
    const std::vector<std::string>& names,
    std::map<std::string, ModuleStats>& modules
) {
  if (!file.contains(kSensitivity)) return;
  for (const std::string& format : file.children(kSensitivity)) {
    const std::string group = std::string(kSensitivity) + "/" + format;
    const auto index = read_vector<int64_t>(file, path, group + "/module");
    const auto mean = read_vector<double>(file, path, group + "/kl_mean");
    const auto error = read_vector<double>(file, path, group + "/kl_stderr");
    require_size(path, (group + "/kl_mean").c_str(), mean.size(), index.size());
    require_size(path, (group + "/kl_stderr").c_str(), error.size(), index.size());
    for (size_t i = 0; i < index.size(); ++i) {
      require_data(
          index[i] >= 0 && index[i] < static_cast<int64_t>(names.size()),
          "{}: data set {}/module: element {} is {}, but there are {} modules",
          path.string(),
          group,
          i,
          index[i],
          names.size()
      );
      modules[names[static_cast<size_t>(index[i])]].sensitivity[format] = {mean[i], error[i]};
    }
  }
}

}  // namespace

void CalibrationStats::save(const fs::path& path) const {
  std::vector<std::string> names;
  std::vector<int64_t> rows;
  std::vector<int64_t> cols;
  std::vector<int64_t> module_tokens;
  std::vector<float> input_amax;
  Ragged<float> channel_amax;
  Ragged<double> mean_square;
  std::map<std::string, SensitivityColumns> sensitivity;
  for (const auto& [name, stats] : modules) {
    validate(path, name, stats);
    for (const auto& [format, value] : stats.sensitivity) {
      SensitivityColumns& columns = sensitivity[format];
      columns.module.push_back(static_cast<int64_t>(names.size()));
      columns.kl_mean.push_back(value.kl_mean);
      columns.kl_stderr.push_back(value.kl_stderr);
    }
    names.push_back(name);
    rows.push_back(stats.rows);
    cols.push_back(stats.cols);
    module_tokens.push_back(stats.tokens);
    input_amax.push_back(stats.input_amax);
    channel_amax.append(stats.input_channel_amax);
    mean_square.append(stats.input_mean_square);
  }
  Hdf5Writer file(path);
  file.attribute("/", "schema_version", kStatsSchemaVersion);
  file.attribute("/", "model_hash", model_hash);
  file.attribute("/", "corpus_hash", corpus_hash);
  file.attribute("/", "tokens", tokens);
  if (!names.empty()) file.write_strings(kNames, names);
  write_vector(file, kRows, rows);
  write_vector(file, kCols, cols);
  write_vector(file, kTokens, module_tokens);
  write_vector(file, kInputAmax, input_amax);
  write_vector(file, kChannelAmax, channel_amax.values);
  write_vector(file, kChannelAmaxOffset, channel_amax.offset);
  write_vector(file, kMeanSquare, mean_square.values);
  write_vector(file, kMeanSquareOffset, mean_square.offset);
  for (const auto& [format, columns] : sensitivity) {
    const std::string group = std::string(kSensitivity) + "/" + format;
    write_vector(file, group + "/module", columns.module);
    write_vector(file, group + "/kl_mean", columns.kl_mean);
    write_vector(file, group + "/kl_stderr", columns.kl_stderr);
  }
  file.commit();
}

CalibrationStats CalibrationStats::load(const fs::path& path) {
  const Hdf5Reader file(path);
  const int64_t version = file.int_attribute("/", "schema_version");
  require_data(
      version == kStatsSchemaVersion,
      "{}: schema_version is {}, this version of hone reads {}: run hone calibrate again",
      path.string(),
      version,
      kStatsSchemaVersion
  );
  CalibrationStats stats;
  stats.model_hash = file.string_attribute("/", "model_hash");
  stats.corpus_hash = file.string_attribute("/", "corpus_hash");
  stats.tokens = file.int_attribute("/", "tokens");
  std::vector<std::string> names;
  if (file.contains(kNames)) names = file.read_strings(kNames);
  const size_t n = names.size();
  const auto rows = read_vector<int64_t>(file, path, kRows);
  const auto cols = read_vector<int64_t>(file, path, kCols);
  const auto tokens = read_vector<int64_t>(file, path, kTokens);
  const auto input_amax = read_vector<float>(file, path, kInputAmax);
  require_size(path, kRows, rows.size(), n);
  require_size(path, kCols, cols.size(), n);
  require_size(path, kTokens, tokens.size(), n);
  require_size(path, kInputAmax, input_amax.size(), n);
  const auto channel_amax = read_ragged<float>(file, path, kChannelAmax, kChannelAmaxOffset, n);
  const auto mean_square = read_ragged<double>(file, path, kMeanSquare, kMeanSquareOffset, n);
  for (size_t i = 0; i < n; ++i) {
    ModuleStats module;
    module.rows = rows[i];
    module.cols = cols[i];
    module.tokens = tokens[i];
    module.input_amax = input_amax[i];
    module.input_channel_amax = channel_amax.row(i);
    module.input_mean_square = mean_square.row(i);
    require_data(
        stats.modules.emplace(names[i], std::move(module)).second,
        "{}: data set {} names module {} twice",
        path.string(),
        kNames,
        names[i]
    );
  }
  read_sensitivity(file, path, names, stats.modules);
  for (const auto& [name, module] : stats.modules) validate(path, name, module);
  return stats;
}

}  // namespace hone
