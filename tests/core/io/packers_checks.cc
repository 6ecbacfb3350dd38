// The packers of compressed-tensors and ModelOpt against their own output, and our readers and
// encoder against both. docs/formats.md quotes the sizes of the differences from here.
#include <gtest/gtest.h>

#include "core/base/threads.h"
#include "core/format/load.h"
#include "tests/core/io/quantized_checkpoint.h"
#include "tests/reference/packers.h"

namespace hone {
namespace {

using reference::Matrix;
using reference::Packed;
using reference::Rounding;
using reference::StoredTensor;

// One packer's vectors: "<case>.<dtype>.weight" and "<case>.<dtype>.<format>.<part>".
class Vectors {
 public:
  explicit Vectors(const std::string& packer)
      : all_(reference::read_folder(std::string(HONE_SOURCE_DIR) + "/tests/golden/" + packer)) {}

  [[nodiscard]] bool contains(const std::string& name) const { return all_.contains(name); }
  [[nodiscard]] Matrix matrix(const std::string& name) const {
    return reference::matrix_of(all_.at(name));
  }
  [[nodiscard]] std::vector<uint8_t> bytes(const std::string& name) const {
    return reference::elements<uint8_t>(all_.at(name));
  }
  // F32 or BF16.
  [[nodiscard]] std::vector<float> floats(const std::string& name) const {
    const StoredTensor& tensor = all_.at(name);
    if (tensor.dtype == "F32") return reference::elements<float>(tensor);
    std::vector<float> values;
    for (const uint16_t bits : reference::elements<uint16_t>(tensor))
      values.push_back(static_cast<float>(reference::bf16_value(bits)));
    return values;
  }
  [[nodiscard]] const StoredTensor& stored(const std::string& name) const { return all_.at(name); }
  // "<case>.<dtype>" of all matrices that were packed in this format.
  [[nodiscard]] std::vector<std::string> cases(const std::string& format) const {
    std::vector<std::string> found;
    for (const auto& [name, tensor] : all_) {
      const size_t end = name.rfind(".weight");
      if (end == std::string::npos || end + 7 != name.size()) continue;
      const std::string prefix = name.substr(0, end);
      if (all_.contains(prefix + "." + format + ".weight_scale")) found.push_back(prefix);
    }
    return found;
  }

 private:
  std::map<std::string, StoredTensor> all_;
};

const Vectors& compressed_tensors() {
  static const Vectors vectors("compressed_tensors");
  return vectors;
}
const Vectors& modelopt() {
  static const Vectors vectors("modelopt");
  return vectors;
}

Rounding dtype_of(const std::string& prefix) {
  return {prefix.ends_with(".bf16")};
}

// Bits, so that zeros keep their sign and NaN equals NaN.
std::vector<uint32_t> bits_of(const std::vector<float>& values) {
  std::vector<uint32_t> bits(values.size());
  std::memcpy(bits.data(), values.data(), values.size() * sizeof(float));
  return bits;
}

// ---- reference modes

TEST(CompressedTensorsPacker, Fp8) {
  const Vectors& golden = compressed_tensors();
  for (const std::string format : {"block", "channel", "tensor"}) {
    const std::vector<std::string> cases = golden.cases(format);
    ASSERT_GE(cases.size(), format == "block" ? 17U : 16U);
    for (const std::string& prefix : cases) {
      const std::string at = prefix + "." + format + ".";
      const Matrix w = golden.matrix(prefix + ".weight");
      const int64_t rows = format == "block" ? 128 : format == "channel" ? 1 : w.rows;
      const int64_t cols = format == "block" ? 128 : w.cols;
      const Packed packed = reference::ct_fp8(w, dtype_of(prefix), rows, cols);
      EXPECT_EQ(bits_of(packed.scales), bits_of(golden.floats(at + "weight_scale"))) << at;
      EXPECT_EQ(packed.codes, golden.bytes(at + "weight")) << at;
    }
  }
}

TEST(CompressedTensorsPacker, Nvfp4) {
  const Vectors& golden = compressed_tensors();
  ASSERT_EQ(golden.cases("nvfp4").size(), 16U);
  for (const std::string& prefix : golden.cases("nvfp4")) {
    const std::string at = prefix + ".nvfp4.";
    const Packed packed = reference::ct_nvfp4(golden.matrix(prefix + ".weight"), dtype_of(prefix));
    EXPECT_EQ(bits_of({packed.global}), bits_of(golden.floats(at + "weight_global_scale"))) << at;
    EXPECT_EQ(packed.scale_bytes, golden.bytes(at + "weight_scale")) << at;
    EXPECT_EQ(packed.codes, golden.bytes(at + "weight_packed")) << at;
  }
}

TEST(CompressedTensorsPacker, Mx) {
  const Vectors& golden = compressed_tensors();
  for (const std::string format : {"mxfp4", "mxfp8"}) {
    ASSERT_EQ(golden.cases(format).size(), 16U);
    for (const std::string& prefix : golden.cases(format)) {
      const std::string at = prefix + "." + format + ".";
      const bool fp4 = format == "mxfp4";
      const Packed packed =
          reference::ct_mx(golden.matrix(prefix + ".weight"), dtype_of(prefix), fp4);
      EXPECT_EQ(packed.scale_bytes, golden.bytes(at + "weight_scale")) << at;
      EXPECT_EQ(packed.codes, golden.bytes(at + (fp4 ? "weight_packed" : "weight"))) << at;
    }
  }
}

TEST(ModelOptPacker, Fp8) {
  const Vectors& golden = modelopt();
  for (const std::string format : {"block", "channel", "tensor"}) {
    const std::vector<std::string> cases = golden.cases(format);
    ASSERT_GE(cases.size(), format == "block" ? 17U : 16U);
    for (const std::string& prefix : cases) {
      const std::string at = prefix + "." + format + ".";
      const Matrix w = golden.matrix(prefix + ".weight");
      const Packed packed = format == "block"     ? reference::mo_fp8_block(w, dtype_of(prefix))
                            : format == "channel" ? reference::mo_fp8_channel(w)
                                                  : reference::mo_fp8_tensor(w, dtype_of(prefix));
      EXPECT_EQ(bits_of(packed.scales), bits_of(golden.floats(at + "weight_scale"))) << at;
      EXPECT_EQ(packed.codes, golden.bytes(at + "weight")) << at;
    }
  }
}

TEST(ModelOptPacker, Nvfp4) {
  const Vectors& golden = modelopt();
  ASSERT_EQ(golden.cases("nvfp4").size(), 16U);
  for (const std::string& prefix : golden.cases("nvfp4")) {
    const std::string at = prefix + ".nvfp4.";
    const Packed packed = reference::mo_nvfp4(golden.matrix(prefix + ".weight"));
    EXPECT_EQ(bits_of({packed.global}), bits_of(golden.floats(at + "weight_scale_2"))) << at;
    EXPECT_EQ(packed.scale_bytes, golden.bytes(at + "weight_scale")) << at;
    EXPECT_EQ(packed.codes, golden.bytes(at + "weight")) << at;
  }
}

TEST(ModelOptPacker, Mxfp8) {
  const Vectors& golden = modelopt();
  ASSERT_EQ(golden.cases("mxfp8").size(), 16U);
  for (const std::string& prefix : golden.cases("mxfp8")) {
    const std::string at = prefix + ".mxfp8.";
    const Packed packed = reference::mo_mxfp8(golden.matrix(prefix + ".weight"));
    EXPECT_EQ(packed.scale_bytes, golden.bytes(at + "weight_scale")) << at;
    EXPECT_EQ(packed.codes, golden.bytes(at + "weight")) << at;
  }
}

// ---- our readers on the packers' files

struct FormatCase {
  std::string name;  // in the vectors
  Format format;
  ActivationRule activation;
};

Tensor tensor_of(const StoredTensor& stored, std::optional<DType> as = std::nullopt) {
  Tensor tensor(as.value_or(*parse_dtype(stored.dtype)), Shape(stored.shape));
  std::memcpy(tensor.bytes(), stored.bytes.data(), stored.bytes.size());
  return tensor;
}

// The values that our reader gives for one packed matrix.
std::vector<float> values_read(
    const Dialect& dialect,
    const FormatCase& format,
    const std::map<std::string, Tensor>& parts,
    int64_t rows,
    int64_t cols
) {
  const QuantizedModule module{
      .module = "x",
      .format = format.format,
      .activation = format.activation,
      .rows = rows,
      .cols = cols};
  TempFolder folder;
  const auto checkpoint =
      checkpoint_of(folder.path(), parts, dialect.quantization_config({std::span(&module, 1), {}}));
  EXPECT_EQ(dialect.modules(*checkpoint), std::vector<std::string>{"x"});
  const QuantizedTensor tensor = dialect.read(*checkpoint, "x");
  EXPECT_EQ(tensor.rows, rows);
  EXPECT_EQ(tensor.cols, cols);
  std::vector<float> values(static_cast<size_t>(rows * cols));
  dequantize_rows(tensor, 0, rows, values.data());
  return values;
}

TEST(CompressedTensorsReader, DequantizedValuesAreThoseOfTheLibrary) {
  const FormatCase formats[] = {
      {"block", Format::kBlockFp8, ActivationRule::kNone},
      {"channel", Format::kFp8Channel, ActivationRule::kNone},
      {"tensor", Format::kFp8Tensor, ActivationRule::kNone},
      {"nvfp4", Format::kNvfp4, ActivationRule::kNone},
      {"mxfp4", Format::kMxfp4, ActivationRule::kNone},
      {"mxfp8", Format::kMxfp8, ActivationRule::kNone}};
  const Vectors& golden = compressed_tensors();
  for (const FormatCase& format : formats) {
    for (const std::string& prefix : golden.cases(format.name)) {
      const std::string at = prefix + "." + format.name + ".";
      const StoredTensor& weight = golden.stored(prefix + ".weight");
      std::map<std::string, Tensor> parts;
      for (const char* part : {"weight", "weight_packed", "weight_scale", "weight_global_scale"}) {
        if (!golden.contains(at + part)) continue;
        const bool e4m3 = part == std::string("weight") ||
                          (part == std::string("weight_scale") && format.name == "nvfp4");
        parts[std::string("x.") + part] = tensor_of(
            golden.stored(at + part), e4m3 ? std::optional(DType::kF8E4M3) : std::nullopt
        );
      }
      std::vector<float> values =
          values_read(CompressedTensorsDialect(), format, parts, weight.shape[0], weight.shape[1]);
      // The library's reader rounds to the dtype of its result.
      if (golden.stored(at + "decompressed").dtype == "BF16") {
        for (float& value : values) value = reference::round_to_bf16(value);
      }
      EXPECT_EQ(bits_of(values), bits_of(golden.floats(at + "decompressed"))) << at;
    }
  }
}

TEST(ModelOptReader, DequantizedValuesAreThoseOfTheLibrary) {
  const Vectors& golden = modelopt();
  const FormatCase formats[] = {
      {"nvfp4", Format::kNvfp4, ActivationRule::kNone},
      {"mxfp8", Format::kMxfp8, ActivationRule::kMxfp8}};
  for (const FormatCase& format : formats) {
    for (const std::string& prefix : golden.cases(format.name)) {
      const std::string at = prefix + "." + format.name + ".";
      const StoredTensor& weight = golden.stored(prefix + ".weight");
      const bool packed = format.name == "nvfp4";
      std::map<std::string, Tensor> parts = {
          {"x.weight",
           tensor_of(
               golden.stored(at + "weight"), packed ? std::nullopt : std::optional(DType::kF8E4M3)
           )},
          {"x.weight_scale",
           tensor_of(
               golden.stored(at + "weight_scale"),
               packed ? std::optional(DType::kF8E4M3) : std::nullopt
           )}};
      if (packed) parts["x.weight_scale_2"] = tensor_of(golden.stored(at + "weight_scale_2"));
      const auto read = [&] {
        return values_read(ModelOptDialect(), format, parts, weight.shape[0], weight.shape[1]);
      };
      if (packed && golden.floats(at + "weight_scale_2")[0] == 0.0F) {
        // A matrix of zeros: the scalar is 0, the block scales are NaN.
        EXPECT_THROW((void)read(), DataError) << at;
        continue;
      }
      std::vector<float> values = read();
      // The library's table of E2M1 has no negative zero.
      if (packed) {
        for (float& value : values) value += 0.0F;
      }
      EXPECT_EQ(bits_of(values), bits_of(golden.floats(at + "dequantized"))) << at;
    }
  }
}

// ---- our encoder beside the packers' modes

// How far our encoder's output is from a packer's, over a matrix.
struct Difference {
  int64_t codes = 0;   // elements with another code
  int64_t scales = 0;  // block scales with another value
  double ours = 0;     // relative error of the decoded matrix
  double theirs = 0;
};

double error_of(const QuantizedTensor& tensor, const Matrix& w) {
  std::vector<float> values(w.values.size());
  dequantize_rows(tensor, 0, tensor.rows, values.data());
  return reference::relative_error({values.begin(), values.end()}, w.values);
}

// `packed` as a tensor that our decoder reads.
QuantizedTensor tensor_of(const Packed& packed, const QuantizedTensor& like, bool divisor) {
  QuantizedTensor tensor = like;
  tensor.codes = Tensor(like.codes.type(), like.codes.shape());
  std::memcpy(tensor.codes.bytes(), packed.codes.data(), packed.codes.size());
  tensor.global = {like.format == Format::kFp8Tensor ? packed.scales[0] : packed.global, divisor};
  if (like.block_scales.empty()) return tensor;
  tensor.block_scales = Tensor(like.block_scales.type(), like.block_scales.shape());
  const void* scales = packed.scales.empty() ? static_cast<const void*>(packed.scale_bytes.data())
                                             : static_cast<const void*>(packed.scales.data());
  std::memcpy(
      tensor.block_scales.bytes(), scales, static_cast<size_t>(tensor.block_scales.nbytes())
  );
  return tensor;
}

Difference compare(const QuantizedTensor& ours, const QuantizedTensor& theirs, const Matrix& w) {
  Difference d;
  const bool packed = ours.codes.type() == DType::kU8;
  for (int64_t i = 0; i < ours.codes.nbytes(); ++i) {
    const auto differ = static_cast<int>(ours.codes.bytes()[i] ^ theirs.codes.bytes()[i]);
    d.codes += packed ? ((differ & 15) != 0) + (differ >> 4 != 0) : differ != 0;
  }
  const int64_t width = dtype_bits(ours.block_scales.type()) / 8;
  const int64_t bytes = ours.block_scales.empty() ? 0 : ours.block_scales.nbytes();
  for (int64_t i = 0; i < bytes; i += width) {
    const auto at = static_cast<size_t>(i);
    d.scales += std::memcmp(
                    ours.block_scales.bytes() + at,
                    theirs.block_scales.bytes() + at,
                    static_cast<size_t>(width)
                ) != 0;
  }
  d.ours = error_of(ours, w);
  d.theirs = error_of(theirs, w);
  return d;
}

QuantizedTensor our_encoding(const Matrix& w, Format format) {
  ThreadPool pool(1);
  Tensor matrix(DType::kF32, {w.rows, w.cols});
  std::ranges::transform(w.values, matrix.as<float>().begin(), [](double x) {
    return static_cast<float>(x);
  });
  const float amax = slab_amax(RowSlab::of(matrix.view()), pool).amax;
  switch (format) {
    case Format::kBlockFp8:
      return quantize_block_fp8(matrix.view(), {}, "w", pool);
    case Format::kFp8Channel:
      return quantize_fp8_channel(matrix.view(), "w", pool);
    case Format::kFp8Tensor:
      return quantize_fp8_tensor(matrix.view(), fp8_scale(amax), "w", pool);
    case Format::kNvfp4:
      return quantize_nvfp4(matrix.view(), nvfp4_global_scale(amax), "w", pool);
    default:
      return quantize_mx(matrix.view(), {format, MxScaleRule::kFloor}, "w", pool);
  }
}

Packed ct_packed(const Matrix& w, Format format, Rounding type) {
  switch (format) {
    case Format::kBlockFp8:
      return reference::ct_fp8(w, type, 128, 128);
    case Format::kFp8Channel:
      return reference::ct_fp8(w, type, 1, w.cols);
    case Format::kFp8Tensor:
      return reference::ct_fp8(w, type, w.rows, w.cols);
    case Format::kNvfp4:
      return reference::ct_nvfp4(w, type);
    default:
      return reference::ct_mx(w, type, format == Format::kMxfp4);
  }
}

Packed mo_packed(const Matrix& w, Format format, Rounding type) {
  switch (format) {
    case Format::kBlockFp8:
      return reference::mo_fp8_block(w, type);
    case Format::kFp8Channel:
      return reference::mo_fp8_channel(w);
    case Format::kFp8Tensor:
      return reference::mo_fp8_tensor(w, type);
    case Format::kNvfp4:
      return reference::mo_nvfp4(w);
    default:
      return reference::mo_mxfp8(w);
  }
}

// A normal matrix of 256 x 512, rounded to the dtype.
Matrix normal_matrix(Rounding type) {
  Matrix w{256, 512, {}};
  uint64_t state = 5;
  const auto uniform = [&state] {
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return static_cast<double>(state >> 11) * 0x1p-53;
  };
  for (int64_t i = 0; i < w.rows * w.cols; ++i) {
    double sum = -6;
    for (int k = 0; k < 12; ++k) sum += uniform();
    w.values.push_back(type(static_cast<float>(0.02 * sum)));
  }
  return w;
}

// A row of the table in docs/formats.md: of 131072 elements.
struct Row {
  const char* packer;
  Format format;
  bool bf16;
  int64_t codes;
  int64_t scales;
  double ours;
  double theirs;
};

TEST(Packers, DifferencesFromOurEncoderAreWhatTheDocumentSays) {
  const Row rows[] = {
      {"ct", Format::kBlockFp8, false, 0, 0, 0.026484, 0.026484},
      {"ct", Format::kFp8Channel, false, 0, 0, 0.026258, 0.026258},
      {"ct", Format::kFp8Tensor, false, 0, 0, 0.026512, 0.026512},
      {"ct", Format::kNvfp4, false, 0, 0, 0.095426, 0.095426},
      {"ct", Format::kMxfp4, false, 14978, 543, 0.113061, 0.111331},
      {"ct", Format::kMxfp8, false, 17376, 543, 0.029053, 0.026521},
      {"mo", Format::kBlockFp8, false, 0, 0, 0.026484, 0.026484},
      {"mo", Format::kFp8Channel, false, 0, 0, 0.026258, 0.026258},
      {"mo", Format::kFp8Tensor, false, 0, 0, 0.026512, 0.026512},
      {"mo", Format::kNvfp4, false, 0, 0, 0.095426, 0.095426},
      {"mo", Format::kMxfp8, false, 17376, 543, 0.029053, 0.026521},
      {"ct", Format::kBlockFp8, true, 3431, 5, 0.026495, 0.026636},
      {"ct", Format::kFp8Channel, true, 3883, 223, 0.026259, 0.026406},
      {"ct", Format::kFp8Tensor, true, 1806, 0, 0.026525, 0.026594},
      {"ct", Format::kNvfp4, true, 519, 215, 0.095399, 0.095572},
      {"ct", Format::kMxfp4, true, 15230, 552, 0.112996, 0.111436},
      {"ct", Format::kMxfp8, true, 17664, 552, 0.029044, 0.026624},
      {"mo", Format::kBlockFp8, true, 3431, 5, 0.026495, 0.026636},
      {"mo", Format::kFp8Channel, true, 0, 0, 0.026259, 0.026259},
      {"mo", Format::kFp8Tensor, true, 3971, 0, 0.026525, 0.026743},
      {"mo", Format::kNvfp4, true, 0, 0, 0.095399, 0.095399},
      {"mo", Format::kMxfp8, true, 16800, 525, 0.029044, 0.026624},
  };
  const Matrix matrices[] = {normal_matrix({false}), normal_matrix({true})};
  for (const Row& row : rows) {
    const Matrix& w = matrices[row.bf16 ? 1 : 0];
    const QuantizedTensor ours = our_encoding(w, row.format);
    const bool ct = row.packer == std::string("ct");
    const Packed packed =
        ct ? ct_packed(w, row.format, {row.bf16}) : mo_packed(w, row.format, {row.bf16});
    const Difference d =
        compare(ours, tensor_of(packed, ours, ct && row.format == Format::kNvfp4), w);
    const std::string name = std::string(row.packer) + " " + std::string(format_name(row.format)) +
                             (row.bf16 ? " bf16" : " f32");
    EXPECT_EQ(d.codes, row.codes) << name;
    EXPECT_EQ(d.scales, row.scales) << name;
    EXPECT_NEAR(d.ours, row.ours, 1e-6) << name;
    EXPECT_NEAR(d.theirs, row.theirs, 1e-6) << name;
  }
}

// Where zeros and tiny numbers part the encoders; each line of the document has one here.
TEST(Packers, EdgesThatDiffer) {
  Matrix zeros{1, 32, std::vector<double>(32, 0.0)};
  zeros.values[20] = 6.0;
  zeros.values[21] = -0.0;
  const QuantizedTensor ours = our_encoding(zeros, Format::kNvfp4);
  const auto byte = [](const Tensor& tensor, size_t i) {
    return static_cast<int>(tensor.bytes()[i]);
  };
  // A block of zeros: scale 1, 1/8, 1. A negative zero: kept, lost, lost.
  EXPECT_EQ(byte(ours.block_scales, 0), 0x38);
  EXPECT_EQ(reference::ct_nvfp4(zeros, {}).scale_bytes[0], 0x20);
  EXPECT_EQ(reference::mo_nvfp4(zeros).scale_bytes[0], 0x38);
  EXPECT_EQ(byte(ours.codes, 10) >> 4, 8);
  EXPECT_EQ(reference::ct_nvfp4(zeros, {}).codes[10] >> 4, 0);
  EXPECT_EQ(reference::mo_nvfp4(zeros).codes[10] >> 4, 0);

  // A block whose scale would round to zero: ours and ModelOpt's keep its largest elements,
  // compressed-tensors' scale of 1/8 is 64 times that of ours and loses it all.
  Matrix small{1, 32, std::vector<double>(32, 0.0)};
  for (size_t i = 0; i < 16; ++i) small.values[i] = 1e-6;
  small.values[20] = 1.0;
  EXPECT_EQ(byte(our_encoding(small, Format::kNvfp4).block_scales, 0), 0x01);
  EXPECT_NE(byte(our_encoding(small, Format::kNvfp4).codes, 0), 0);
  EXPECT_EQ(reference::mo_nvfp4(small).scale_bytes[0], 0x01);
  EXPECT_NE(reference::mo_nvfp4(small).codes[0], 0);
  EXPECT_EQ(reference::ct_nvfp4(small, {}).scale_bytes[0], 0x20);
  EXPECT_EQ(reference::ct_nvfp4(small, {}).codes[0], 0);

  // A matrix of zeros.
  const Matrix nothing{1, 32, std::vector<double>(32, 0.0)};
  EXPECT_EQ(our_encoding(nothing, Format::kNvfp4).global.value, 1.0F);
  EXPECT_EQ(reference::ct_nvfp4(nothing, {}).global, 1.0F);
  EXPECT_EQ(reference::mo_nvfp4(nothing).global, 0.0F);
  EXPECT_EQ(reference::mo_nvfp4(nothing).scale_bytes[0], 0xFF);
  EXPECT_EQ(reference::mo_fp8_tensor(nothing, {}).codes[0] & 0x7F, 0x7F);
  EXPECT_EQ(our_encoding(nothing, Format::kFp8Tensor).global.value, 1.0F);
  EXPECT_EQ(byte(our_encoding(nothing, Format::kMxfp8).block_scales, 0), 127);
  EXPECT_EQ(reference::ct_mx(nothing, {}, false).scale_bytes[0], 0);
  EXPECT_EQ(reference::mo_mxfp8(nothing).scale_bytes[0], 0);
}

}  // namespace
}  // namespace hone
