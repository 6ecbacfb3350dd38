// A thin RAII layer over HDF5's C interface: what the statistics and feature files need.
//
// Files carry no time stamps, so equal contents give equal bytes. Calls from several threads are
// safe and run one at a time (the library itself is not thread-safe).
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/tensor/tensor.h"

namespace hone {

// Write side; the file appears under its name only after commit(). Errors: DataError with path.
class Hdf5Writer {
 public:
  explicit Hdf5Writer(std::filesystem::path path);
  ~Hdf5Writer();

  // Groups on the way ("a/b") are created. Data sets are contiguous (chunked by rows when
  // appended to). Types: F32, F64, I32, I64, U8.
  void write(const std::string& name, const TensorView& tensor);
  // Adds rows to a data set that grows along its first dimension; the first call creates it. Rows
  // of another shape or type: InternalError.
  void append(const std::string& name, const TensorView& rows);
  void write_strings(const std::string& name, std::span<const std::string> values);
  // Attributes of a group or data set ("" or "/" is the root).
  void attribute(const std::string& object, const std::string& key, const std::string& value);
  void attribute(const std::string& object, const std::string& key, int64_t value);
  void attribute(const std::string& object, const std::string& key, double value);
  void commit();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

// Read side. Every getter throws DataError naming path and object.
class Hdf5Reader {
 public:
  explicit Hdf5Reader(std::filesystem::path path);
  ~Hdf5Reader();

  [[nodiscard]] bool contains(const std::string& name) const;
  // Names of the direct children of a group, sorted.
  [[nodiscard]] std::vector<std::string> children(const std::string& group) const;
  [[nodiscard]] Tensor read(const std::string& name) const;
  [[nodiscard]] Shape shape(const std::string& name) const;
  // Rows [begin, begin + count) of the first dimension. UsageError out of range.
  [[nodiscard]] Tensor read_rows(const std::string& name, int64_t begin, int64_t count) const;
  [[nodiscard]] std::vector<std::string> read_strings(const std::string& name) const;
  [[nodiscard]] std::string string_attribute(const std::string& object, const std::string& key)
      const;
  [[nodiscard]] int64_t int_attribute(const std::string& object, const std::string& key) const;
  [[nodiscard]] double double_attribute(const std::string& object, const std::string& key) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace hone
