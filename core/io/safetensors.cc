#include "core/io/safetensors.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>

#include <simdjson.h>

#include "core/base/error.h"
#include "core/json/json.h"

namespace hone {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;

std::string at(const std::filesystem::path& path, std::string_view tensor) {
  return fmt::format("{}: tensor \"{}\"", path.string(), tensor);
}

// simdjson errors as DataError.
template <typename T>
T take(simdjson::simdjson_result<T> result, const std::string& where, const char* wanted) {
  T value;
  const auto error = std::move(result).get(value);
  require_data(!error, "{}: {} expected ({})", where, wanted, simdjson::error_message(error));
  return value;
}

struct Entry {
  std::string name;
  TensorView view;
  uint64_t begin = 0;
  uint64_t end = 0;
};

Entry parse_entry(
    const std::filesystem::path& path,
    std::string_view name,
    simdjson::dom::element element,
    std::span<const std::byte> data
) {
  const std::string where = at(path, name);
  const auto object = take(element.get_object(), where, "an object");
  std::set<std::string_view> seen;
  for (const auto& [key, value] : object) {
    require_data(seen.insert(key).second, "{}: field \"{}\" occurs twice", where, key);
  }
  Entry entry;
  entry.name = name;
  const auto dtype = take(object["dtype"].get_string(), where, "\"dtype\" as a string");
  const auto type = parse_dtype(dtype);
  require_data(type.has_value(), "{}: unknown dtype \"{}\"", where, dtype);
  std::vector<int64_t> dims;
  for (auto dim : take(object["shape"].get_array(), where, "\"shape\" as a list")) {
    const auto size = take(dim.get_uint64(), where, "sizes as non-negative integers");
    require_data(
        size <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()),
        "{}: size {} is too large",
        where,
        size
    );
    dims.push_back(static_cast<int64_t>(size));
  }
  std::vector<uint64_t> offsets;
  for (auto offset : take(object["data_offsets"].get_array(), where, "\"data_offsets\"")) {
    offsets.push_back(take(offset.get_uint64(), where, "offsets as non-negative integers"));
  }
  require_data(offsets.size() == 2, "{}: \"data_offsets\" must have two entries", where);
  entry.begin = offsets[0];
  entry.end = offsets[1];
  entry.view.type = *type;
  entry.view.shape = Shape(std::move(dims));
  require_data(
      entry.begin <= entry.end && entry.end <= data.size(),
      "{}: data_offsets [{}, {}] lie outside of the {} data bytes; the file is truncated or broken",
      where,
      entry.begin,
      entry.end,
      data.size()
  );
  int64_t expected = 0;
  try {
    expected = entry.view.nbytes();
  } catch (const DataError& error) {
    throw DataError(fmt::format("{}: {}", where, error.what()));
  }
  require_data(
      static_cast<uint64_t>(expected) == entry.end - entry.begin,
      "{}: {} {} needs {} bytes, data_offsets give {}",
      where,
      dtype_name(*type),
      entry.view.shape.str(),
      expected,
      entry.end - entry.begin
  );
  entry.view.data = data.data() + entry.begin;
  return entry;
}

}  // namespace

std::shared_ptr<const SafetensorsFile> SafetensorsFile::open(const std::filesystem::path& path) {
  std::shared_ptr<SafetensorsFile> file(new SafetensorsFile(MappedFile::open(path)));
  file->parse_header();
  return file;
}

void SafetensorsFile::parse_header() {
  const std::string where = path().string();
  const std::span<const std::byte> bytes = file_.bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  require_data(
      !text.starts_with("version https://git-lfs"),
      "{} is a Git LFS pointer, not the weights: run `git lfs pull` in its repository",
      where
  );
  require_data(bytes.size() >= 8, "{}: {} bytes are too few for a header", where, bytes.size());
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  require_data(
      length <= kMaxHeader, "{}: header length {} exceeds {} bytes", where, length, kMaxHeader
  );
  require_data(
      length <= bytes.size() - 8,
      "{}: header length {} exceeds the file's {} bytes; the file is truncated or no safetensors",
      where,
      length,
      bytes.size()
  );
  const std::span<const std::byte> data = bytes.subspan(8 + length);
  simdjson::dom::parser parser;
  const auto root =
      take(parser.parse(text.data() + 8, length), where + ": header", "a JSON object");
  std::vector<Entry> entries;
  std::set<std::string_view> seen;
  for (const auto& [name, element] : take(root.get_object(), where + ": header", "an object")) {
    require_data(seen.insert(name).second, "{} occurs twice in the header", at(path(), name));
    if (name == "__metadata__") {
      for (const auto& [key, value] :
           take(element.get_object(), where + ": __metadata__", "an object")) {
        const bool fresh =
            metadata_
                .emplace(
                    std::string(key),
                    std::string(take(value.get_string(), where + ": __metadata__", "strings"))
                )
                .second;
        require_data(fresh, "{}: __metadata__ has \"{}\" twice", where, key);
      }
      continue;
    }
    entries.push_back(parse_entry(path(), name, element, data));
  }
  std::ranges::stable_sort(entries, [](const Entry& a, const Entry& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  uint64_t position = 0;
  for (Entry& entry : entries) {
    require_data(
        entry.begin >= position,
        "{} overlaps the tensor before it (offset {}, expected {})",
        at(path(), entry.name),
        entry.begin,
        position
    );
    require_data(
        entry.begin == position,
        "{}: hole of {} bytes before it",
        at(path(), entry.name),
        entry.begin - position
    );
    position = entry.end;
    names_.push_back(entry.name);
    tensors_.emplace(entry.name, std::move(entry.view));
  }
  require_data(
      position == data.size(), "{}: {} bytes follow the last tensor", where, data.size() - position
  );
}

bool SafetensorsFile::contains(const std::string& name) const {
  return tensors_.contains(name);
}

TensorView SafetensorsFile::tensor(const std::string& name) const {
  auto it = tensors_.find(name);
  require_data(it != tensors_.end(), "{} is missing", at(path(), name));
  return it->second;
}

void SafetensorsFile::drop(const std::string& name) const {
  drop(name, 0, tensor(name).nbytes());
}

void SafetensorsFile::drop(const std::string& name, int64_t offset, int64_t size) const {
  file_.drop(position(name, offset, size), static_cast<size_t>(size));
}

void SafetensorsFile::prefetch(const std::string& name, int64_t offset, int64_t size) const {
  file_.prefetch(position(name, offset, size), static_cast<size_t>(size));
}

size_t SafetensorsFile::position(const std::string& name, int64_t offset, int64_t size) const {
  const TensorView view = tensor(name);
  require(
      offset >= 0 && size >= 0 && offset <= view.nbytes() && size <= view.nbytes() - offset,
      "{}: bytes [{}, {} + {}) of {}",
      at(path(), name),
      offset,
      offset,
      size,
      view.nbytes()
  );
  return static_cast<size_t>(view.data - file_.bytes().data() + offset);
}

SafetensorsWriter::SafetensorsWriter(
    const std::filesystem::path& path,
    std::vector<TensorSpec> specs,
    const std::map<std::string, std::string>& metadata
)
    : file_(path), specs_(std::move(specs)) {
  Json header = Json::object();
  if (!metadata.empty()) header["__metadata__"] = metadata;
  std::set<std::string> seen;
  int64_t offset = 0;
  std::string text = "{";
  if (!metadata.empty()) text += "\"__metadata__\":" + dump_json(header["__metadata__"]);
  // Built by hand: an ordered object would look every name up in a list of all names.
  for (const TensorSpec& spec : specs_) {
    require(seen.insert(spec.name).second, "{}: written twice", at(path, spec.name));
    const int64_t size = byte_size(spec.type, spec.shape);
    if (text.size() > 1) text += ',';
    text += dump_json(spec.name) + ":" +
            dump_json(
                {{"dtype", dtype_name(spec.type)},
                 {"shape", spec.shape.dims()},
                 {"data_offsets", {offset, offset + size}}}
            );
    offset += size;
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');  // tensors start 8-byte aligned
  const uint64_t length = text.size();
  file_.append(std::as_bytes(std::span(&length, 1)));
  file_.append(text);
}

void SafetensorsWriter::append(const std::string& name, std::span<const std::byte> bytes) {
  // Tensors without elements take no bytes and are passed over.
  while (current_ < specs_.size() && specs_[current_].name != name &&
         written_ == byte_size(specs_[current_].type, specs_[current_].shape)) {
    ++current_;
    written_ = 0;
  }
  check(
      current_ < specs_.size() && specs_[current_].name == name,
      "tensor \"{}\" is written out of order",
      name
  );
  const int64_t size = byte_size(specs_[current_].type, specs_[current_].shape);
  written_ += static_cast<int64_t>(bytes.size());
  check(written_ <= size, "tensor \"{}\" gets {} bytes, has {}", name, written_, size);
  file_.append(bytes);
}

void SafetensorsWriter::finish() {
  while (current_ < specs_.size() &&
         written_ == byte_size(specs_[current_].type, specs_[current_].shape)) {
    ++current_;
    written_ = 0;
  }
  check(
      current_ == specs_.size(),
      "tensor \"{}\" is incomplete",
      current_ < specs_.size() ? specs_[current_].name : ""
  );
  file_.commit();
}

void write_safetensors(
    const std::filesystem::path& path, const std::map<std::string, Tensor>& tensors
) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (const auto& [name, tensor] : tensors) specs.push_back({name, tensor.type(), tensor.shape()});
  SafetensorsWriter writer(path, std::move(specs));
  for (const auto& [name, tensor] : tensors) writer.append(name, tensor.view().bytes());
  writer.finish();
}

}  // namespace hone
