#include "quant/lora.h"

#include <cmath>
#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "tests/fixture/random_checkpoint.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing_fixture::fresh_path;

Tensor random_tensor(const Shape& shape, uint64_t seed) {
  Tensor tensor(DType::kF32, shape);
  Rng rng(seed);
  for (float& x : tensor.as<float>()) x = static_cast<float>(rng.normal());
  return tensor;
}

const Json kPlain = {{"peft_type", "LORA"}, {"r", 3}, {"lora_alpha", 6}, {"bias", "none"}};

fs::path adapter(
    const std::string& name, const Json& config, std::map<std::string, Tensor> tensors
) {
  const fs::path folder = fresh_path(name);
  fs::create_directories(folder);
  write_json_file(folder / "adapter_config.json", config);
  write_safetensors(folder / "adapter_model.safetensors", tensors);
  return folder;
}

std::map<std::string, Tensor> pair(const std::string& module) {
  return {
      {"base_model.model." + module + ".lora_A.weight", random_tensor({3, 5}, 1)},
      {"base_model.model." + module + ".lora_B.weight", random_tensor({4, 3}, 2)}};
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

// s * sum over r of b[i][r] a[r][j], in double.
double delta(double scale, int64_t i, int64_t j) {
  const Tensor a = random_tensor({3, 5}, 1);
  const Tensor b = random_tensor({4, 3}, 2);
  double sum = 0;
  for (int64_t r = 0; r < 3; ++r) {
    sum += static_cast<double>(b.as<float>()[static_cast<size_t>(i * 3 + r)]) *
           static_cast<double>(a.as<float>()[static_cast<size_t>(r * 5 + j)]);
  }
  return scale * sum;
}

TEST(LoraAdapter, AddsScaledProduct) {
  const auto lora = LoraAdapter::open(adapter("lora_plain", kPlain, pair("layers.0.q_proj")));
  EXPECT_THAT(lora->modules(), ElementsAre("layers.0.q_proj"));
  EXPECT_EQ(lora->scaling("layers.0.q_proj"), 2.0);
  lora->check_shape("layers.0.q_proj", 4, 5);
  std::vector<float> whole(20, 1.0F);
  lora->add_rows("layers.0.q_proj", 0, 4, whole.data());
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 5; ++j) {
      const double expected = 1.0 + delta(2.0, i, j);
      EXPECT_NEAR(whole[static_cast<size_t>(i * 5 + j)], expected, 8 * 6e-8 * 10);
    }
  }
  // Slabs give the same bits.
  std::vector<float> slabs(20, 1.0F);
  lora->add_rows("layers.0.q_proj", 0, 1, slabs.data());
  lora->add_rows("layers.0.q_proj", 1, 3, slabs.data() + 5);
  EXPECT_EQ(whole, slabs);
}

TEST(LoraAdapter, ScalingRules) {
  Json config = kPlain;
  config["use_rslora"] = true;
  EXPECT_DOUBLE_EQ(
      LoraAdapter::open(adapter("lora_rs", config, pair("a.q")))->scaling("a.q"), 6 / std::sqrt(3.0)
  );
  config = kPlain;
  config["alpha_pattern"] = {{"q", 12}};
  const auto lora = LoraAdapter::open(adapter("lora_pattern", config, pair("a.q")));
  EXPECT_EQ(lora->scaling("a.q"), 4.0);
  config["alpha_pattern"] = {{"other", 12}};
  EXPECT_EQ(LoraAdapter::open(adapter("lora_pattern2", config, pair("a.q")))->scaling("a.q"), 2.0);
}

TEST(LoraAdapter, TransposedBases) {
  Json config = kPlain;
  config["fan_in_fan_out"] = true;
  const auto lora = LoraAdapter::open(adapter("lora_fan", config, pair("c_attn")));
  lora->check_shape("c_attn", 5, 4);  // [in, out]
  std::vector<float> values(20, 0.0F);
  lora->add_rows("c_attn", 0, 5, values.data());
  for (int64_t i = 0; i < 4; ++i) {
    for (int64_t j = 0; j < 5; ++j)
      EXPECT_NEAR(values[static_cast<size_t>(j * 4 + i)], delta(2.0, i, j), 1e-5);
  }
}

TEST(LoraAdapter, EmbeddingsAreTransposed) {
  const auto lora = LoraAdapter::open(adapter(
      "lora_embedding",
      kPlain,
      {{"base_model.model.embed.lora_embedding_A", random_tensor({3, 5}, 1)},
       {"base_model.model.embed.lora_embedding_B", random_tensor({4, 3}, 2)}}
  ));
  lora->check_shape("embed", 5, 4);  // [vocabulary, hidden]
  std::vector<float> row(4, 0.0F);
  lora->add_rows("embed", 3, 1, row.data());
  for (int64_t i = 0; i < 4; ++i) EXPECT_NEAR(row[static_cast<size_t>(i)], delta(2.0, i, 3), 1e-5);
}

TEST(LoraAdapter, ModulesToSave) {
  auto tensors = pair("q");
  tensors["base_model.model.lm_head.weight"] = random_tensor({2, 2}, 5);
  tensors["base_model.model.score.modules_to_save.weight"] = random_tensor({2, 2}, 6);
  const auto lora = LoraAdapter::open(adapter("lora_save", kPlain, tensors));
  EXPECT_THAT(lora->replacements(), ElementsAre("lm_head.weight", "score.weight"));
  EXPECT_EQ(
      lora->replacement("lm_head.weight").as<float>()[3], random_tensor({2, 2}, 5).as<float>()[3]
  );
}

TEST(LoraAdapter, WhatCannotBeMergedIsNamed) {
  const auto message =
      [](const char* name, const Json& config, std::map<std::string, Tensor> tensors) {
        const fs::path folder = adapter(name, config, std::move(tensors));
        return error_of([&] { LoraAdapter::open(folder); });
      };
  Json config = kPlain;
  config["use_dora"] = true;
  EXPECT_THAT(message("lora_dora", config, pair("q")), HasSubstr("use_dora"));
  config = kPlain;
  config["bias"] = "lora_only";
  EXPECT_THAT(message("lora_bias", config, pair("q")), HasSubstr("bias is \"lora_only\""));
  config = kPlain;
  config["peft_type"] = "IA3";
  EXPECT_THAT(message("lora_ia3", config, pair("q")), HasSubstr("peft_type is IA3"));
  config = kPlain;
  config.erase("lora_alpha");
  EXPECT_THAT(message("lora_alpha", config, pair("q")), HasSubstr("lora_alpha"));
  auto tensors = pair("q");
  tensors.erase("base_model.model.q.lora_B.weight");
  EXPECT_THAT(message("lora_half", kPlain, tensors), HasSubstr("q has lora_A without lora_B"));
  tensors = pair("q");
  tensors["base_model.model.q.lora_B.weight"] = random_tensor({4, 2}, 1);
  EXPECT_THAT(message("lora_rank", kPlain, tensors), HasSubstr("A [3, 5] and B [4, 2]"));
  tensors = pair("q");
  tensors["base_model.model.q.lora_magnitude_vector"] = random_tensor({4}, 1);
  EXPECT_THAT(message("lora_magnitude", kPlain, tensors), HasSubstr("cannot be merged"));
  EXPECT_THAT(
      message("lora_prefix", kPlain, {{"q", random_tensor({4}, 1)}}), HasSubstr("base_model.model.")
  );
  EXPECT_THAT(
      error_of([] { LoraAdapter::open(fresh_path("lora_none")); }), HasSubstr("adapter_config.json")
  );
  const auto lora = LoraAdapter::open(adapter("lora_shape", kPlain, pair("q")));
  EXPECT_THAT(
      error_of([&] { lora->check_shape("q", 5, 4); }),
      HasSubstr("the delta of q is [4, 5], the weight is [5, 4]")
  );
}

}  // namespace
}  // namespace hone
