#include "quant/check/contents.h"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/fixture/random_checkpoint.h"
#include "tests/quant/check/planted_fault.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

// The folder is removed when everything was read.
Contents contents_of(const StoredCheckpoint& checkpoint, const ContentsRequest& request) {
  const fs::path folder = testing_fixture::fresh_path("check-contents");
  checkpoint.write(folder);
  const Snapshot snapshot = read_snapshot(folder);
  const Declaration declared(snapshot);
  const ModuleTable modules(snapshot, declared, "LlamaForCausalLM");
  Contents contents = read_contents(snapshot, modules, request);
  fs::remove_all(folder);
  return contents;
}

constexpr const char* kUp = "model.layers.0.mlp.up_proj";

StoredCheckpoint one_module(StoredBytes weight, StoredBytes scale) {
  StoredCheckpoint checkpoint;
  checkpoint.tensors[std::string(kUp) + ".weight"] = std::move(weight);
  checkpoint.tensors[std::string(kUp) + ".weight_scale"] = std::move(scale);
  return checkpoint;
}

// Larger than one piece: indices count from the start of the tensor, the first one is kept.
TEST(Contents, PiecesAreOneTensor) {
  const int64_t rows = 3 << 20;
  std::string codes(static_cast<size_t>(rows) * 8, '\0');
  codes[20'000'001] = '\x7F';
  codes[17'000'000] = '\xFF';
  const Contents contents = contents_of(
      one_module({"F8_E4M3", {rows, 8}, codes}, f32({1}, {1.0F})), {.scales = false, .codes = true}
  );
  const TensorContents* read = contents.find(std::string(kUp) + ".weight");
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->first_nan, 17'000'000);
  EXPECT_FALSE(read->all_zero);
  // Scales were not asked for.
  EXPECT_EQ(contents.find(std::string(kUp) + ".weight_scale"), nullptr);
}

TEST(Contents, ZerosOfEitherSign) {
  const std::string zeros(1024, '\x80');
  const Contents fp8 = contents_of(
      one_module({"F8_E4M3", {32, 32}, zeros}, f32({1}, {1.0F})), {.scales = false, .codes = true}
  );
  EXPECT_TRUE(fp8.find(std::string(kUp) + ".weight")->all_zero);
  // Two codes in a byte: the sign bits are 0x88.
  const Contents fp4 = contents_of(
      one_module({"U8", {32, 32}, std::string(1024, '\x88')}, f32({1}, {1.0F})),
      {.scales = false, .codes = true}
  );
  EXPECT_TRUE(fp4.find(std::string(kUp) + ".weight")->all_zero);
}

TEST(Contents, FloatScales) {
  const Contents contents = contents_of(
      one_module(
          {"F8_E4M3", {1, 8}, std::string(8, '\x38')},
          f32({6}, {0.5F, 0.75F, 0.0F, -1.0F, std::nanf(""), 0.0F})
      ),
      {.scales = true, .codes = false}
  );
  const TensorContents* read = contents.find(std::string(kUp) + ".weight_scale");
  ASSERT_NE(read, nullptr);
  EXPECT_EQ(read->first_not_power_of_two, 1);
  EXPECT_EQ(read->first_zero, 2);
  EXPECT_EQ(read->first_negative, 3);
  EXPECT_EQ(read->first_nan, 4);
}

TEST(Contents, ExponentsOfMxFormats) {
  std::string exponents(100, '\x7F');
  exponents[42] = '\xFF';
  const Contents contents = contents_of(
      one_module({"F8_E4M3", {100, 32}, std::string(3200, '\x38')}, {"U8", {100, 1}, exponents}),
      {.scales = true, .codes = false}
  );
  EXPECT_EQ(contents.find(std::string(kUp) + ".weight_scale")->first_nan, 42);
}

TEST(Contents, DenseTypes) {
  StoredCheckpoint checkpoint;
  checkpoint.tensors["bf16"] = {"BF16", {3}, std::string("\x80\x3F\x80\x7F\x00\x00", 6)};
  checkpoint.tensors["f16"] = {"F16", {3}, std::string("\x00\x3C\x00\x3C\x00\x7C", 6)};
  checkpoint.tensors["f32"] = f32({2}, {1.0F, std::nanf("")});
  checkpoint.tensors["large"] = {"BF16", {1}, std::string("\x7F\x7F", 2)};
  checkpoint.tensors["empty"] = {"F32", {0}, ""};
  checkpoint.tensors["integer"] = {"I32", {1}, std::string(4, '\xFF')};
  const Contents contents = contents_of(checkpoint, {.scales = false, .codes = true});
  EXPECT_EQ(contents.find("bf16")->first_nan, 1);
  EXPECT_EQ(contents.find("f16")->first_nan, 2);
  EXPECT_EQ(contents.find("f32")->first_nan, 1);
  EXPECT_EQ(contents.find("large")->first_nan, -1);
  EXPECT_EQ(contents.find("integer")->first_nan, -1);
}

TEST(Contents, NothingIsReadUnasked) {
  EXPECT_TRUE(contents_of(sound_fp8(), {}).tensors.empty());
}

}  // namespace
}  // namespace hone
