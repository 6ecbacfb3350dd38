#include "quant/convert.h"

#include <functional>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/rng.h"
#include "core/io/dialect.h"
#include "quant/apply.h"
#include "quant/select/planner.h"
#include "quant/source.h"
#include "tests/fixture/random_checkpoint.h"
#include "tests/reference/quant_formats.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using testing_fixture::folder_bytes;
using testing_fixture::fresh_path;
using testing_fixture::RandomCheckpoint;
using testing_fixture::write_random_checkpoint;

constexpr const char* kQ = "model.layers.0.self_attn.q_proj";

fs::path random_model(const std::string& name, const RandomCheckpoint& options = {}) {
  const fs::path folder = fresh_path(name);
  write_random_checkpoint(folder, options);
  return folder;
}

fs::path quantized(const fs::path& source, const std::string& name, const char* scheme) {
  const auto checkpoint = Checkpoint::open(source);
  PlanRequest request;
  request.architecture = "LlamaForCausalLM";
  request.tensors = list_source(*checkpoint, nullptr);
  request.scheme = find_scheme(scheme);
  const fs::path output = fresh_path(name);
  apply_plan(*checkpoint, make_plan(request), output, {})->commit();
  return output;
}

ConvertCounts convert(
    const fs::path& source, const fs::path& output, const ConvertOptions& options
) {
  Conversion conversion = convert_checkpoint(*Checkpoint::open(source), output, options);
  conversion.writer->commit();
  return conversion.counts;
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

// A rank-2 adapter for one module; alpha 4, so the delta is 2 B A.
std::shared_ptr<const LoraAdapter> adapter_for(
    const std::string& name, const std::string& module, int64_t rows, int64_t cols
) {
  const fs::path folder = fresh_path(name);
  fs::create_directories(folder);
  write_json_file(
      folder / "adapter_config.json", {{"peft_type", "LORA"}, {"r", 2}, {"lora_alpha", 4}}
  );
  Tensor a(DType::kF32, {2, cols});
  Tensor b(DType::kF32, {rows, 2});
  Rng rng(9);
  for (float& x : a.as<float>()) x = static_cast<float>(rng.normal());
  for (float& x : b.as<float>()) x = static_cast<float>(rng.normal());
  write_safetensors(
      folder / "adapter_model.safetensors",
      {{"base_model.model." + module + ".lora_A.weight", a},
       {"base_model.model." + module + ".lora_B.weight", b}}
  );
  return LoraAdapter::open(folder);
}

TEST(Convert, ShardSizeChangesNoByteOfATensor) {
  const fs::path source = random_model("convert_one");
  ConvertOptions options;
  options.max_shard_bytes = 300'000;
  options.slab_bytes = 10'000;
  const fs::path output = fresh_path("convert_many");
  const ConvertCounts counts = convert(source, output, options);
  EXPECT_EQ(counts.decoded + counts.merged + counts.replaced, 0);
  EXPECT_TRUE(fs::exists(output / "model.safetensors.index.json"));
  const auto before = Checkpoint::open(source);
  const auto after = Checkpoint::open(output);
  EXPECT_EQ(counts.copied, static_cast<int64_t>(before->names().size()));
  EXPECT_EQ(before->content_hash(), after->content_hash());
  // And back.
  const fs::path again = fresh_path("convert_again");
  convert(output, again, {});
  EXPECT_EQ(
      folder_bytes(again).at("model.safetensors"), folder_bytes(source).at("model.safetensors")
  );
}

TEST(Convert, QuantizedFoldersAreReshardedWithTheirConfig) {
  const fs::path fp8 = quantized(random_model("convert_q_source"), "convert_q_fp8", "fp8-block");
  const fs::path output = fresh_path("convert_q_out");
  convert(fp8, output, {});
  auto expected = folder_bytes(fp8);
  expected.erase("README.md");
  EXPECT_EQ(folder_bytes(output), expected);
}

TEST(Convert, DecodedWeightsAreTheDefinitionRoundedToBf16) {
  const fs::path source = random_model("convert_decode_source");
  for (const char* scheme : {"fp8-block", "nvfp4a16"}) {
    const fs::path packed = quantized(source, std::string("convert_packed_") + scheme, scheme);
    const fs::path output = fresh_path(std::string("convert_decoded_") + scheme);
    ConvertOptions options;
    options.to_bf16 = true;
    options.slab_bytes = 40'000;
    const ConvertCounts counts = convert(packed, output, options);
    EXPECT_EQ(counts.decoded, 14);
    const auto decoded = Checkpoint::open(output);
    EXPECT_EQ(detect_dialect(*decoded), nullptr);
    EXPECT_FALSE(decoded->config().contains("quantization_config"));
    EXPECT_FALSE(fs::exists(output / "hf_quant_config.json"));
    EXPECT_EQ(decoded->names(), Checkpoint::open(source)->names());

    const auto from = Checkpoint::open(packed);
    const QuantizedTensor q = detect_dialect(*from)->read(*from, kQ);
    std::vector<float> values(static_cast<size_t>(q.rows * q.cols));
    dequantize_rows(q, 0, q.rows, values.data());
    const auto bits =
        reference::elements<uint16_t>(reference::read_folder(output).at(std::string(kQ) + ".weight")
        );
    ASSERT_EQ(bits.size(), values.size());
    for (size_t i = 0; i < bits.size(); ++i) {
      // Nearest: no neighbour of the result is closer.
      const double x = values[i];
      const double error = std::abs(reference::bf16_value(bits[i]) - x);
      if (error == 0) continue;
      for (const int step : {-1, 1}) {
        const auto other = static_cast<uint16_t>(bits[i] + step);
        EXPECT_LE(error, std::abs(reference::bf16_value(other) - x)) << i;
      }
    }
  }
}

TEST(Convert, NothingToDecodeIsSaid) {
  const fs::path source = random_model("convert_dense");
  ConvertOptions options;
  options.to_bf16 = true;
  EXPECT_THAT(
      error_of([&] { convert(source, fresh_path("convert_dense_out"), options); }),
      HasSubstr("nothing is quantized")
  );
}

TEST(Convert, LoraIsAddedAndRoundedOnce) {
  RandomCheckpoint random;
  const fs::path source = random_model("convert_lora_source", random);
  ConvertOptions options;
  options.slab_bytes = 1;  // 128 rows a slab
  options.lora = adapter_for("convert_lora", kQ, 256, 256);
  const fs::path output = fresh_path("convert_lora_out");
  const ConvertCounts counts = convert(source, output, options);
  EXPECT_EQ(counts.merged, 1);
  const auto before = reference::read_folder(source);
  const auto after = reference::read_folder(output);
  ASSERT_EQ(before.size(), after.size());
  for (const auto& [name, tensor] : before) {
    if (name != std::string(kQ) + ".weight") {
      EXPECT_EQ(after.at(name).bytes, tensor.bytes) << name;
      continue;
    }
    const reference::Matrix w = reference::matrix_of(tensor);
    const reference::Matrix merged = reference::matrix_of(after.at(name));
    std::vector<float> delta(256 * 256, 0.0F);
    options.lora->add_rows(kQ, 0, 256, delta.data());
    for (size_t i = 0; i < delta.size(); ++i) {
      const double exact = w.values[i] + static_cast<double>(delta[i]);
      // Half a BF16 step, and the float32 sum before it.
      EXPECT_NEAR(merged.values[i], exact, std::abs(exact) * 0x1.01p-8 + 1e-7) << i;
    }
  }
}

TEST(Convert, ForeignAdaptersAreRefused) {
  const fs::path source = random_model("convert_foreign");
  const auto message = [&](const char* name, const char* module, int64_t rows) {
    ConvertOptions options;
    options.lora = adapter_for(name, module, rows, 256);
    return error_of([&] { convert(source, fresh_path("convert_foreign_out"), options); });
  };
  EXPECT_THAT(message("foreign1", kQ, 128), HasSubstr("the weight is [256, 256]"));
  EXPECT_THAT(message("foreign2", "model.layers.9.mlp.up_proj", 128), HasSubstr("another model"));
  EXPECT_FALSE(fs::exists(fresh_path("convert_foreign_out")));
}

TEST(Convert, TiedHeadsAndQuantizedWeightsTakeNoDelta) {
  RandomCheckpoint random;
  random.tied = true;
  const fs::path tied = random_model("convert_tied", random);
  ConvertOptions options;
  options.lora = adapter_for("tied_adapter", "lm_head", 64, 256);
  EXPECT_THAT(
      error_of([&] { convert(tied, fresh_path("convert_tied_out"), options); }),
      HasSubstr("tie_word_embeddings")
  );
  const fs::path fp8 = quantized(tied, "convert_tied_fp8", "fp8-block");
  options.lora = adapter_for("fp8_adapter", kQ, 256, 256);
  EXPECT_THAT(
      error_of([&] { convert(fp8, fresh_path("convert_fp8_out"), options); }),
      HasSubstr("--to bf16")
  );
  options.to_bf16 = true;
  EXPECT_EQ(convert(fp8, fresh_path("convert_fp8_out"), options).merged, 1);
}

}  // namespace
}  // namespace hone
