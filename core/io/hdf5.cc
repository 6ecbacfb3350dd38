#include "core/io/hdf5.h"

#include <algorithm>
#include <cstring>
#include <mutex>

#include <hdf5.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace fs = std::filesystem;
namespace {

// Chunks of growing data sets.
constexpr hsize_t kChunkBytes = hsize_t{1} << 20;

// Owns an HDF5 identifier.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t)) : id_(id), close_(close) {}
  Handle(Handle&& other) noexcept : id_(std::exchange(other.id_, -1)), close_(other.close_) {}
  Handle& operator=(Handle&&) = delete;
  ~Handle() {
    if (id_ >= 0) close_(id_);
  }
  [[nodiscard]] hid_t get() const { return id_; }
  [[nodiscard]] bool ok() const { return id_ >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

// Debian's serial HDF5 is not thread-safe: one call at a time in the whole process.
std::recursive_mutex& library() {
  static std::recursive_mutex mutex;
  return mutex;
}
using Lock = std::lock_guard<std::recursive_mutex>;

// HDF5 prints a stack of its own otherwise; our errors name path and object.
void silence() {
  H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

[[noreturn]] void fail(const fs::path& path, const std::string& object, const char* what) {
  throw DataError(fmt::format("{}: {} \"{}\"", path.string(), what, object));
}

hid_t memory_type(DType type) {
  switch (type) {
    case DType::kF32:
      return H5T_NATIVE_FLOAT;
    case DType::kF64:
      return H5T_NATIVE_DOUBLE;
    case DType::kI32:
      return H5T_NATIVE_INT32;
    case DType::kI64:
      return H5T_NATIVE_INT64;
    case DType::kU8:
      return H5T_NATIVE_UINT8;
    default:
      throw UsageError(fmt::format("HDF5 files hold no {} here", dtype_name(type)));
  }
}

DType dtype_of(hid_t type, const fs::path& path, const std::string& object) {
  const size_t size = H5Tget_size(type);
  const H5T_class_t kind = H5Tget_class(type);
  if (kind == H5T_FLOAT && size == 4) return DType::kF32;
  if (kind == H5T_FLOAT && size == 8) return DType::kF64;
  if (kind == H5T_INTEGER && size == 4) return DType::kI32;
  if (kind == H5T_INTEGER && size == 8) return DType::kI64;
  if (kind == H5T_INTEGER && size == 1) return DType::kU8;
  fail(path, object, "unexpected element type of");
}

Handle string_type() {
  Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
  H5Tset_size(type.get(), H5T_VARIABLE);
  H5Tset_cset(type.get(), H5T_CSET_UTF8);
  return type;
}

struct Extent {
  std::vector<hsize_t> dims;
};
Extent extent(hid_t set) {
  const Handle space(H5Dget_space(set), H5Sclose);
  const int rank = H5Sget_simple_extent_ndims(space.get());
  Extent result;
  result.dims.resize(static_cast<size_t>(std::max(0, rank)));
  H5Sget_simple_extent_dims(space.get(), result.dims.data(), nullptr);
  return result;
}

std::vector<hsize_t> hdf5_dims(const Shape& shape) {
  return {shape.dims().begin(), shape.dims().end()};
}

std::string root_if_empty(const std::string& object) {
  return object.empty() ? "/" : object;
}

}  // namespace

struct Hdf5Writer::State {
  fs::path path;
  fs::path partial;
  hid_t file = -1;

  explicit State(fs::path p) : path(std::move(p)), partial(path.string() + ".building") {
    const Lock lock(library());
    silence();
    std::error_code ignored;
    fs::remove(partial, ignored);
    Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
    H5Pset_libver_bounds(access.get(), H5F_LIBVER_V18, H5F_LIBVER_V18);
    Handle create(H5Pcreate(H5P_FILE_CREATE), H5Pclose);
    H5Pset_obj_track_times(create.get(), 0);
    file = H5Fcreate(partial.c_str(), H5F_ACC_TRUNC, create.get(), access.get());
    require_data(file >= 0, "{}: cannot be created", partial.string());
  }
  ~State() {
    const Lock lock(library());
    if (file >= 0) H5Fclose(file);
    std::error_code ignored;
    fs::remove(partial, ignored);
  }

  void make_parents(const std::string& name) const {
    for (size_t slash = name.find('/', 1); slash != std::string::npos;
         slash = name.find('/', slash + 1)) {
      const std::string group = name.substr(0, slash);
      if (H5Lexists(file, group.c_str(), H5P_DEFAULT) > 0) continue;
      Handle create(H5Pcreate(H5P_GROUP_CREATE), H5Pclose);
      H5Pset_obj_track_times(create.get(), 0);
      const Handle made(
          H5Gcreate2(file, group.c_str(), H5P_DEFAULT, create.get(), H5P_DEFAULT), H5Gclose
      );
      if (!made.ok()) fail(path, group, "cannot create group");
    }
  }

  void write(
      const std::string& name, hid_t type, const std::vector<hsize_t>& dims, const void* data
  ) const {
    make_parents(name);
    const Handle space(
        dims.empty() ? H5Screate(H5S_SCALAR)
                     : H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr),
        H5Sclose
    );
    Handle create(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_obj_track_times(create.get(), 0);
    const Handle set(
        H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, create.get(), H5P_DEFAULT),
        H5Dclose
    );
    if (!set.ok()) fail(path, name, "cannot create data set");
    if (H5Dwrite(set.get(), type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) < 0) {
      fail(path, name, "cannot write data set");
    }
  }

  // Creates an empty data set that grows by rows of `dims` (its first dimension does not matter).
  [[nodiscard]] Handle create_growing(
      const std::string& name, hid_t type, std::vector<hsize_t> dims
  ) const {
    make_parents(name);
    hsize_t row_bytes = H5Tget_size(type);
    for (size_t i = 1; i < dims.size(); ++i) row_bytes *= std::max<hsize_t>(1, dims[i]);
    std::vector<hsize_t> limit = dims;
    std::vector<hsize_t> chunk = dims;
    for (hsize_t& size : chunk) size = std::max<hsize_t>(1, size);
    dims[0] = 0;
    limit[0] = H5S_UNLIMITED;
    chunk[0] = std::max<hsize_t>(1, kChunkBytes / row_bytes);
    const int rank = static_cast<int>(dims.size());
    const Handle space(H5Screate_simple(rank, dims.data(), limit.data()), H5Sclose);
    Handle create(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    H5Pset_obj_track_times(create.get(), 0);
    H5Pset_chunk(create.get(), rank, chunk.data());
    Handle set(
        H5Dcreate2(file, name.c_str(), type, space.get(), H5P_DEFAULT, create.get(), H5P_DEFAULT),
        H5Dclose
    );
    if (!set.ok()) fail(path, name, "cannot create data set");
    return set;
  }

  void append(
      const std::string& name, hid_t type, const std::vector<hsize_t>& dims, const void* data
  ) const {
    const Handle set = H5Lexists(file, name.c_str(), H5P_DEFAULT) > 0
                           ? Handle(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose)
                           : create_growing(name, type, dims);
    const Extent have = extent(set.get());
    const Handle stored(H5Dget_type(set.get()), H5Tclose);
    const bool fits = have.dims.size() == dims.size() && H5Tequal(stored.get(), type) > 0 &&
                      std::equal(dims.begin() + 1, dims.end(), have.dims.begin() + 1);
    check(fits, "{}: rows of another shape or type appended to \"{}\"", path.string(), name);
    std::vector<hsize_t> size = have.dims;
    size[0] += dims[0];
    std::vector<hsize_t> start(dims.size(), 0);
    start[0] = have.dims[0];
    if (H5Dset_extent(set.get(), size.data()) < 0) fail(path, name, "cannot grow data set");
    if (dims[0] == 0) return;
    const Handle target(H5Dget_space(set.get()), H5Sclose);
    H5Sselect_hyperslab(target.get(), H5S_SELECT_SET, start.data(), nullptr, dims.data(), nullptr);
    const Handle source(
        H5Screate_simple(static_cast<int>(dims.size()), dims.data(), nullptr), H5Sclose
    );
    if (H5Dwrite(set.get(), type, source.get(), target.get(), H5P_DEFAULT, data) < 0) {
      fail(path, name, "cannot append to data set");
    }
  }

  void attribute(const std::string& object, const std::string& key, hid_t type, const void* value)
      const {
    const std::string target = root_if_empty(object);
    const Handle owner(H5Oopen(file, target.c_str(), H5P_DEFAULT), H5Oclose);
    if (!owner.ok()) fail(path, target, "attribute on missing object");
    const Handle space(H5Screate(H5S_SCALAR), H5Sclose);
    const Handle made(
        H5Acreate2(owner.get(), key.c_str(), type, space.get(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose
    );
    if (!made.ok() || H5Awrite(made.get(), type, value) < 0) {
      fail(path, target + "@" + key, "cannot write attribute");
    }
  }
};

Hdf5Writer::Hdf5Writer(fs::path path) : state_(std::make_unique<State>(std::move(path))) {}
Hdf5Writer::~Hdf5Writer() = default;

void Hdf5Writer::write(const std::string& name, const TensorView& tensor) {
  const Lock lock(library());
  state_->write(name, memory_type(tensor.type), hdf5_dims(tensor.shape), tensor.data);
}

void Hdf5Writer::append(const std::string& name, const TensorView& rows) {
  const Lock lock(library());
  require(rows.shape.rank() >= 1, "\"{}\": a scalar cannot be appended", name);
  state_->append(name, memory_type(rows.type), hdf5_dims(rows.shape), rows.data);
}

void Hdf5Writer::write_strings(const std::string& name, std::span<const std::string> values) {
  const Lock lock(library());
  std::vector<const char*> pointers;
  for (const std::string& value : values) pointers.push_back(value.c_str());
  state_->write(name, string_type().get(), {pointers.size()}, pointers.data());
}

void Hdf5Writer::attribute(
    const std::string& object, const std::string& key, const std::string& value
) {
  const Lock lock(library());
  const char* text = value.c_str();
  state_->attribute(object, key, string_type().get(), &text);
}

void Hdf5Writer::attribute(const std::string& object, const std::string& key, int64_t value) {
  const Lock lock(library());
  state_->attribute(object, key, H5T_NATIVE_INT64, &value);
}

void Hdf5Writer::attribute(const std::string& object, const std::string& key, double value) {
  const Lock lock(library());
  state_->attribute(object, key, H5T_NATIVE_DOUBLE, &value);
}

void Hdf5Writer::commit() {
  const Lock lock(library());
  State& state = *state_;
  const bool flushed = H5Fflush(state.file, H5F_SCOPE_GLOBAL) >= 0;
  const bool closed = H5Fclose(state.file) >= 0;
  state.file = -1;
  require_data(
      flushed && closed, "{}: cannot be written completely; is the disk full?", state.path.string()
  );
  // Through AtomicFile: fsync and rename in one place.
  AtomicFile file(state.path);
  file.append(MappedFile::open(state.partial).bytes());
  file.commit();
}

struct Hdf5Reader::State {
  fs::path path;
  hid_t file = -1;

  explicit State(fs::path p) : path(std::move(p)) {
    const Lock lock(library());
    silence();
    require_data(fs::exists(path), "{}: no such file", path.string());
    file = H5Fopen(path.c_str(), H5F_ACC_RDONLY, H5P_DEFAULT);
    require_data(file >= 0, "{} is no HDF5 file, or a broken one", path.string());
  }
  ~State() {
    const Lock lock(library());
    if (file >= 0) H5Fclose(file);
  }

  [[nodiscard]] Handle dataset(const std::string& name) const {
    Handle set(H5Dopen2(file, name.c_str(), H5P_DEFAULT), H5Dclose);
    if (!set.ok()) fail(path, name, "missing data set");
    return set;
  }
  [[nodiscard]] DType type_of(const Handle& set, const std::string& name) const {
    const Handle type(H5Dget_type(set.get()), H5Tclose);
    return dtype_of(type.get(), path, name);
  }
  // A header may claim more than the file can hold; that is refused before memory is asked for.
  [[nodiscard]] Shape shape_of(const Handle& set, const std::string& name) const {
    const std::vector<hsize_t> dims = extent(set.get()).dims;
    Shape shape(std::vector<int64_t>(dims.begin(), dims.end()));
    const int64_t size = byte_size(type_of(set, name), shape);
    if (static_cast<uint64_t>(size) > fs::file_size(path)) fail(path, name, "impossible size of");
    return shape;
  }
  [[nodiscard]] Handle attribute(const std::string& object, const std::string& key) const {
    const std::string target = root_if_empty(object);
    Handle found(
        H5Aopen_by_name(file, target.c_str(), key.c_str(), H5P_DEFAULT, H5P_DEFAULT), H5Aclose
    );
    if (!found.ok()) fail(path, target + "@" + key, "missing attribute");
    return found;
  }
  template <typename T>
  [[nodiscard]] T number(const std::string& object, const std::string& key, hid_t type) const {
    T value{};
    if (H5Aread(attribute(object, key).get(), type, &value) < 0) {
      fail(path, object + "@" + key, "unreadable attribute");
    }
    return value;
  }
};

Hdf5Reader::Hdf5Reader(fs::path path) : state_(std::make_unique<State>(std::move(path))) {}
Hdf5Reader::~Hdf5Reader() = default;

bool Hdf5Reader::contains(const std::string& name) const {
  const Lock lock(library());
  for (size_t slash = name.find('/', 1);; slash = name.find('/', slash + 1)) {
    const std::string part = name.substr(0, slash);
    if (H5Lexists(state_->file, part.c_str(), H5P_DEFAULT) <= 0) return false;
    if (slash == std::string::npos) return true;
  }
}

std::vector<std::string> Hdf5Reader::children(const std::string& group) const {
  const Lock lock(library());
  const std::string target = root_if_empty(group);
  const Handle opened(H5Gopen2(state_->file, target.c_str(), H5P_DEFAULT), H5Gclose);
  if (!opened.ok()) fail(state_->path, target, "missing group");
  std::vector<std::string> names;
  const auto collect = [](hid_t, const char* name, const H5L_info_t*, void* list) -> herr_t {
    static_cast<std::vector<std::string>*>(list)->emplace_back(name);
    return 0;
  };
  H5Literate(opened.get(), H5_INDEX_NAME, H5_ITER_INC, nullptr, collect, &names);
  std::ranges::sort(names);
  return names;
}

Tensor Hdf5Reader::read(const std::string& name) const {
  const Lock lock(library());
  const Handle set = state_->dataset(name);
  const Shape shape = state_->shape_of(set, name);
  const DType dtype = state_->type_of(set, name);
  Tensor tensor(dtype, shape);
  if (tensor.numel() > 0 &&
      H5Dread(set.get(), memory_type(dtype), H5S_ALL, H5S_ALL, H5P_DEFAULT, tensor.bytes()) < 0) {
    fail(state_->path, name, "unreadable data set");
  }
  return tensor;
}

Shape Hdf5Reader::shape(const std::string& name) const {
  const Lock lock(library());
  return state_->shape_of(state_->dataset(name), name);
}

Tensor Hdf5Reader::read_rows(const std::string& name, int64_t begin, int64_t count) const {
  const Lock lock(library());
  const Handle set = state_->dataset(name);
  const DType dtype = state_->type_of(set, name);
  std::vector<int64_t> dims = state_->shape_of(set, name).dims();
  require(
      !dims.empty() && begin >= 0 && count >= 0 && begin <= dims[0] && count <= dims[0] - begin,
      "{}: rows [{}, {}) of \"{}\" {}",
      state_->path.string(),
      begin,
      begin + count,
      name,
      Shape(dims).str()
  );
  dims[0] = count;
  Tensor tensor(dtype, Shape(dims));
  if (tensor.numel() == 0) return tensor;
  const std::vector<hsize_t> size(dims.begin(), dims.end());
  std::vector<hsize_t> start(dims.size(), 0);
  start[0] = static_cast<hsize_t>(begin);
  const Handle source(H5Dget_space(set.get()), H5Sclose);
  H5Sselect_hyperslab(source.get(), H5S_SELECT_SET, start.data(), nullptr, size.data(), nullptr);
  const Handle target(
      H5Screate_simple(static_cast<int>(size.size()), size.data(), nullptr), H5Sclose
  );
  const hid_t type = memory_type(dtype);
  if (H5Dread(set.get(), type, target.get(), source.get(), H5P_DEFAULT, tensor.bytes()) < 0) {
    fail(state_->path, name, "unreadable data set");
  }
  return tensor;
}

std::vector<std::string> Hdf5Reader::read_strings(const std::string& name) const {
  const Lock lock(library());
  const Handle set = state_->dataset(name);
  const Handle space(H5Dget_space(set.get()), H5Sclose);
  const Handle stored(H5Dget_type(set.get()), H5Tclose);
  if (H5Tis_variable_str(stored.get()) <= 0) fail(state_->path, name, "no strings in");
  const hssize_t count = H5Sget_simple_extent_npoints(space.get());
  if (count < 0) fail(state_->path, name, "unreadable extent of");
  if (static_cast<uint64_t>(count) > fs::file_size(state_->path)) {
    fail(state_->path, name, "impossible size of");
  }
  std::vector<char*> pointers(static_cast<size_t>(count));
  const Handle type = string_type();
  if (H5Dread(set.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, pointers.data()) < 0) {
    fail(state_->path, name, "unreadable data set");
  }
  std::vector<std::string> values;
  values.reserve(pointers.size());
  for (const char* pointer : pointers) values.emplace_back(pointer == nullptr ? "" : pointer);
  H5Dvlen_reclaim(type.get(), space.get(), H5P_DEFAULT, pointers.data());
  return values;
}

std::string Hdf5Reader::string_attribute(const std::string& object, const std::string& key) const {
  const Lock lock(library());
  const Handle found = state_->attribute(object, key);
  const Handle stored(H5Aget_type(found.get()), H5Tclose);
  if (H5Tis_variable_str(stored.get()) <= 0) fail(state_->path, object + "@" + key, "no string in");
  char* text = nullptr;
  const Handle type = string_type();
  if (H5Aread(found.get(), type.get(), &text) < 0 || text == nullptr) {
    fail(state_->path, object + "@" + key, "unreadable attribute");
  }
  std::string value(text);
  H5free_memory(text);
  return value;
}

int64_t Hdf5Reader::int_attribute(const std::string& object, const std::string& key) const {
  const Lock lock(library());
  return state_->number<int64_t>(object, key, H5T_NATIVE_INT64);
}

double Hdf5Reader::double_attribute(const std::string& object, const std::string& key) const {
  const Lock lock(library());
  return state_->number<double>(object, key, H5T_NATIVE_DOUBLE);
}

}  // namespace hone
