#include "core/io/safetensors_scan.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <set>
#include <string_view>
#include <utility>

#include <simdjson.h>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr uint64_t kMaxHeader = 100'000'000;
constexpr std::string_view kPointer = "version https://git-lfs";
constexpr std::string_view kMetadata = "__metadata__";

// The entry, or what is wrong with it.
std::optional<std::string> parse_entry(
    simdjson::dom::element element, uint64_t data_size, ScannedTensor& tensor
) {
  simdjson::dom::object object;
  if (element.get(object)) return "its entry is no object";
  std::string_view dtype;
  if (object["dtype"].get(dtype)) return "\"dtype\" is missing or no string";
  const std::optional<DType> type = parse_dtype(dtype);
  if (!type) return fmt::format("dtype \"{}\" is unknown", dtype);
  tensor.type = *type;
  simdjson::dom::array sizes;
  if (object["shape"].get(sizes)) return "\"shape\" is missing or no list";
  std::vector<int64_t> dims;
  for (const auto size : sizes) {
    uint64_t dim = 0;
    if (size.get(dim) || dim > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return "\"shape\" holds something else than sizes";
    dims.push_back(static_cast<int64_t>(dim));
  }
  tensor.shape = Shape(std::move(dims));
  simdjson::dom::array offsets;
  if (object["data_offsets"].get(offsets) || offsets.size() != 2 ||
      offsets.at(0).get(tensor.begin) || offsets.at(1).get(tensor.end))
    return "\"data_offsets\" must be two non-negative integers";
  if (tensor.begin > tensor.end || tensor.end > data_size)
    return fmt::format(
        "data_offsets [{}, {}] lie outside of the {} data bytes: the file is truncated or broken",
        tensor.begin,
        tensor.end,
        data_size
    );
  int64_t expected = 0;
  try {
    expected = byte_size(tensor.type, tensor.shape);
  } catch (const DataError& error) {
    return error.what();
  }
  if (static_cast<uint64_t>(expected) != tensor.end - tensor.begin)
    return fmt::format(
        "{} {} needs {} bytes, data_offsets give {}",
        dtype,
        tensor.shape.str(),
        expected,
        tensor.end - tensor.begin
    );
  return std::nullopt;
}

}  // namespace

SafetensorsScan SafetensorsScan::open(const std::filesystem::path& path) {
  SafetensorsScan scan;
  try {
    scan.file_ = MappedFile::open(path);
  } catch (const Error& error) {
    scan.problems_.push_back({ScanProblem::Kind::kHeader, "", error.what()});
    return scan;
  }
  scan.read_header();
  return scan;
}

void SafetensorsScan::read_header() {
  const auto header_problem = [&](ScanProblem::Kind kind, std::string text) {
    problems_.push_back({kind, "", std::move(text)});
  };
  const std::span<const std::byte> bytes = file_->bytes();
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  if (text.starts_with(kPointer))
    return header_problem(ScanProblem::Kind::kPointer, "holds a Git LFS pointer, not the weights");
  uint64_t length = 0;
  if (bytes.size() < sizeof(length))
    return header_problem(
        ScanProblem::Kind::kHeader, fmt::format("{} bytes are too few for a header", bytes.size())
    );
  std::memcpy(&length, bytes.data(), sizeof(length));
  if (length > kMaxHeader || length > bytes.size() - sizeof(length))
    return header_problem(
        ScanProblem::Kind::kHeader,
        fmt::format(
            "header length {} exceeds {}: the file is truncated or no safetensors",
            length,
            std::min<uint64_t>(kMaxHeader, bytes.size() - sizeof(length))
        )
    );
  simdjson::dom::parser parser;
  simdjson::dom::object root;
  const auto error = parser.parse(text.data() + sizeof(length), length).get(root);
  if (error)
    return header_problem(
        ScanProblem::Kind::kHeader,
        fmt::format("the header is no JSON object ({})", simdjson::error_message(error))
    );
  readable_ = true;
  data_begin_ = sizeof(length) + length;
  const uint64_t data_size = bytes.size() - data_begin_;
  std::set<std::string_view> seen;
  for (const auto& [name, element] : root) {
    if (name == kMetadata) continue;
    ScannedTensor tensor;
    tensor.name = name;
    std::optional<std::string> mistake;
    if (!seen.insert(name).second) {
      mistake = "it is listed twice in the header";
    } else {
      mistake = parse_entry(element, data_size, tensor);
    }
    if (mistake) {
      problems_.push_back({ScanProblem::Kind::kTensor, tensor.name, *mistake});
      broken_.push_back(std::move(tensor.name));
      continue;
    }
    tensors_.push_back(std::move(tensor));
  }
  std::ranges::stable_sort(tensors_, [](const ScannedTensor& a, const ScannedTensor& b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  // Entries that were left out make holes of their own.
  if (broken_.empty()) check_layout(data_size);
}

void SafetensorsScan::check_layout(uint64_t data_size) {
  uint64_t position = 0;
  for (const ScannedTensor& tensor : tensors_) {
    if (tensor.begin != position)
      problems_.push_back(
          {ScanProblem::Kind::kLayout,
           tensor.name,
           tensor.begin < position
               ? "it overlaps the tensor before it"
               : fmt::format("{} bytes before it belong to no tensor", tensor.begin - position)}
      );
    position = std::max(position, tensor.end);
  }
  if (position != data_size)
    problems_.push_back(
        {ScanProblem::Kind::kLayout,
         "",
         fmt::format("{} bytes follow the last tensor", data_size - position)}
    );
}

std::span<const std::byte> SafetensorsScan::bytes(const ScannedTensor& tensor) const {
  return file_->bytes().subspan(data_begin_ + tensor.begin, tensor.end - tensor.begin);
}

void SafetensorsScan::drop(const ScannedTensor& tensor, uint64_t offset, uint64_t size) const {
  file_->drop(data_begin_ + tensor.begin + offset, size);
}

}  // namespace hone
