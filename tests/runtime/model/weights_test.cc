#include "runtime/model/weights.h"

#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/io/checkpoint.h"
#include "tests/fixture/tiny_llama.h"

namespace hone {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// The tensors of a single-file checkpoint, to be changed and written again.
class Folder {
 public:
  explicit Folder(const std::string& name, const fixture::TinyLlama& options = {})
      : path_(fixture::unique_path(name)) {
    fixture::write_tiny_llama(path_, options);
    const auto checkpoint = Checkpoint::open(path_);
    for (const std::string& tensor : checkpoint->names())
      tensors[tensor] = Tensor::copy_of(checkpoint->tensor(tensor));
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  // The error that loading the changed checkpoint gives; "" when it loads.
  std::string load_error(Profile profile = Profile::kExact) {
    write_safetensors(path_ / "model.safetensors", tensors);
    return error(path_, profile);
  }
  static std::string error(const std::filesystem::path& path, Profile profile = Profile::kExact) {
    try {
      (void)Model::load(path, {.profile = profile});
    } catch (const DataError& failure) {
      return failure.what();
    }
    return "";
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

  std::map<std::string, Tensor> tensors;

 private:
  std::filesystem::path path_;
};

template <typename Word>
void poke(Tensor& tensor, int64_t index, Word bits) {
  std::memcpy(tensor.bytes() + index * static_cast<int64_t>(sizeof(Word)), &bits, sizeof(Word));
}

TEST(FirstNonFinite, EveryPatternOfSmallTypes) {
  for (const DType type : {DType::kF16, DType::kBF16}) {
    const uint32_t exponent = type == DType::kF16 ? 0x7C00 : 0x7F80;
    for (uint32_t bits = 0; bits < 65536; ++bits) {
      Tensor tensor(type, {1});
      poke(tensor, 0, static_cast<uint16_t>(bits));
      const bool finite = (bits & exponent) != exponent;
      ASSERT_EQ(first_non_finite(tensor.view()), finite ? -1 : 0) << dtype_name(type) << bits;
    }
  }
  for (uint32_t bits = 0; bits < 256; ++bits) {
    const auto value = static_cast<uint8_t>(bits);
    Tensor e4m3(DType::kF8E4M3, {1});
    poke(e4m3, 0, value);
    EXPECT_EQ(first_non_finite(e4m3.view()), (bits & 0x7F) == 0x7F ? 0 : -1);
    Tensor e5m2(DType::kF8E5M2, {1});
    poke(e5m2, 0, value);
    EXPECT_EQ(first_non_finite(e5m2.view()), (bits & 0x7C) == 0x7C ? 0 : -1);
    Tensor e8m0(DType::kF8E8M0, {1});
    poke(e8m0, 0, value);
    EXPECT_EQ(first_non_finite(e8m0.view()), bits == 0xFF ? 0 : -1);
  }
}

TEST(FirstNonFinite, FindsTheFirstOfMany) {
  Tensor tensor(DType::kF32, {1000, 1003});
  EXPECT_EQ(first_non_finite(tensor.view()), -1);
  for (const int64_t index : {int64_t{1002999}, int64_t{700001}, int64_t{5}}) {
    tensor.as<float>()[static_cast<size_t>(index)] = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(first_non_finite(tensor.view()), index);
  }
  EXPECT_EQ(first_non_finite(Tensor(DType::kI32, {3}).view()), -1);
  EXPECT_EQ(first_non_finite(Tensor(DType::kF32, {0}).view()), -1);
}

TEST(WeightReader, NanAndInfinityAreNamed) {
  Folder folder("nan_weights");
  EXPECT_EQ(folder.load_error(), "");
  Tensor& down = folder.tensors["model.layers.1.mlp.down_proj.weight"];
  poke<uint16_t>(down, 36 * 5 + 7, 0x7FC0);
  EXPECT_THAT(
      folder.load_error(),
      AllOf(
          HasSubstr(folder.path().string()),
          HasSubstr("model.layers.1.mlp.down_proj.weight is nan at row 5, column 7")
      )
  );
  poke<uint16_t>(down, 36 * 5 + 7, 0xFF80);
  EXPECT_THAT(folder.load_error(), HasSubstr("is -inf at row 5, column 7"));
  poke<uint16_t>(down, 36 * 5 + 7, 0);
  poke<uint16_t>(folder.tensors["model.norm.weight"], 3, 0x7F80);
  EXPECT_THAT(folder.load_error(), HasSubstr("model.norm.weight is inf at element 3"));
}

TEST(WeightReader, MissingAndIllShapedTensorsAreNamed) {
  Folder folder("missing_weights");
  const Tensor k = folder.tensors["model.layers.0.self_attn.k_proj.weight"];
  folder.tensors.erase("model.layers.0.self_attn.k_proj.weight");
  EXPECT_THAT(
      folder.load_error(), HasSubstr("model.layers.0.self_attn.k_proj.weight [10, 24] is missing")
  );
  folder.tensors["model.layers.0.self_attn.k_proj.weight"] = Tensor(DType::kBF16, {20, 24});
  EXPECT_THAT(
      folder.load_error(),
      HasSubstr("k_proj.weight has shape [20, 24], config.json asks for [10, 24]")
  );
  folder.tensors["model.layers.0.self_attn.k_proj.weight"] = Tensor(DType::kI8, {10, 24});
  EXPECT_THAT(folder.load_error(), HasSubstr("k_proj.weight is I8, expected F32, BF16 or F16"));
  folder.tensors["model.layers.0.self_attn.k_proj.weight"] = k;
  folder.tensors.erase("lm_head.weight");
  EXPECT_THAT(folder.load_error(), HasSubstr("lm_head.weight [61, 24] is missing"));
}

TEST(WeightReader, UnusedTensorsAreNamed) {
  Folder folder("unused_weights");
  folder.tensors["model.layers.0.self_attn.rotary_emb.inv_freq"] = Tensor(DType::kF32, {5});
  folder.tensors["model.layers.0.self_attn.k_proj.k_scale"] = Tensor(DType::kF32, {1});
  EXPECT_EQ(folder.load_error(), "");
  folder.tensors["model.layers.0.self_attn.q_proj.bias"] = Tensor(DType::kBF16, {30});
  EXPECT_THAT(
      folder.load_error(),
      AllOf(HasSubstr("1 tensors"), HasSubstr("model.layers.0.self_attn.q_proj.bias"))
  );
}

TEST(WeightReader, TiedHeadWrittenTwiceIsAccepted) {
  Folder folder("tied_twice", {.tied = true});
  folder.tensors["lm_head.weight"] = folder.tensors["model.embed_tokens.weight"];
  EXPECT_EQ(folder.load_error(), "");
}

// Flips bytes in the stored file behind the reader's back, as damage would.
void damage(
    const std::filesystem::path& folder, const std::string& tensor, int64_t at, uint8_t to
) {
  const auto checkpoint = Checkpoint::open(folder);
  const auto file = SafetensorsFile::open(folder / "model.safetensors");
  const auto all = MappedFile::open(folder / "model.safetensors");
  // The tensor's place in the file: its bytes relative to the first tensor, which follows the
  // header.
  uint64_t header = 0;
  std::memcpy(&header, all.bytes().data(), sizeof(header));
  const std::byte* first = file->tensor(file->names().front()).data;
  const int64_t offset = file->tensor(tensor).data - first + 8 + static_cast<int64_t>(header) + at;
  std::fstream stream(
      folder / "model.safetensors", std::ios::in | std::ios::out | std::ios::binary
  );
  stream.seekp(offset);
  stream.put(static_cast<char>(to));
}

TEST(WeightReader, BrokenQuantizedModulesAreNamed) {
  const auto source = fixture::unique_path("quantized_source");
  fixture::write_tiny_llama(source, {});
  const auto folder = fixture::unique_path("quantized_broken");
  fixture::quantize_tiny_llama(source, folder, {});
  EXPECT_EQ(Folder::error(folder), "");
  damage(folder, "model.layers.0.mlp.up_proj.weight", 24 * 3 + 2, 0xFF);
  EXPECT_THAT(
      Folder::error(folder), AllOf(HasSubstr("model.layers.0.mlp.up_proj"), HasSubstr("nan"))
  );
  std::filesystem::remove_all(source);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace hone
