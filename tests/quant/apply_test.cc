#include "quant/apply.h"

#include <algorithm>
#include <csignal>
#include <functional>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/threads.h"
#include "core/format/load.h"
#include "core/format/nvfp4.h"
#include "core/io/dialect.h"
#include "core/json/json.h"
#include "quant/input_scale.h"
#include "quant/select/planner.h"
#include "quant/source.h"
#include "runtime/model/config.h"
#include "tests/fixture/random_checkpoint.h"
#include "tests/reference/quant_formats.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
using reference::StoredTensor;
using ::testing::HasSubstr;
using testing_fixture::folder_bytes;
using testing_fixture::fresh_path;
using testing_fixture::RandomCheckpoint;
using testing_fixture::write_random_checkpoint;
using Tensors = std::map<std::string, StoredTensor>;

PlanRequest request_for(const Checkpoint& checkpoint, const char* scheme) {
  const auto identity = ConfigIdentity::parse(checkpoint.config(), "config.json");
  const Dialect* dialect = detect_dialect(checkpoint);
  PlanRequest request;
  request.architecture = identity.architecture_name;
  request.tied_embeddings = identity.tied_embeddings;
  if (dialect != nullptr) request.source_dialect = dialect->name();
  request.tensors = list_source(checkpoint, dialect);
  request.scheme = find_scheme(scheme);
  return request;
}

void quantize(
    const fs::path& source,
    const fs::path& output,
    const char* scheme,
    ApplyOptions options = {},
    std::initializer_list<const char*> rules = {},
    const std::string& dialect = ""
) {
  const auto checkpoint = Checkpoint::open(source);
  PlanRequest request = request_for(*checkpoint, scheme);
  request.dialect = dialect;
  for (const char* rule : rules) request.rules.push_back(Rule::parse(rule));
  const Plan plan = make_plan(request);
  for (const PlanEntry& e : plan.entries) {
    if (e.scheme != nullptr && needs_input_scale(e.scheme->activation) &&
        !options.input_scales.contains(e.module))
      options.input_scales[e.module] = 0.5F;
  }
  apply_plan(*checkpoint, plan, output, options)->commit();
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

bool is_projection(const std::string& name) {
  return name.find("_proj.") != std::string::npos;
}

std::string module_of(const std::string& tensor) {
  return tensor.substr(0, tensor.rfind('.'));
}

template <typename T>
void expect_bytes(
    const StoredTensor& found, const std::vector<T>& expected, const std::string& at
) {
  ASSERT_EQ(found.bytes.size(), expected.size() * sizeof(T)) << at;
  EXPECT_EQ(std::memcmp(found.bytes.data(), expected.data(), found.bytes.size()), 0) << at;
}

// Every projection of `output` against the naive encoder; everything else byte for byte.
void expect_block_fp8(const Tensors& source, const Tensors& output, bool power_of_two) {
  size_t expected_tensors = 0;
  for (const auto& [name, tensor] : source) {
    ASSERT_TRUE(output.contains(name)) << name;
    const StoredTensor& found = output.at(name);
    ++expected_tensors;
    if (!is_projection(name)) {
      EXPECT_EQ(found.dtype, tensor.dtype);
      EXPECT_EQ(found.bytes, tensor.bytes) << name;
      continue;
    }
    ++expected_tensors;
    const reference::Matrix w = reference::matrix_of(tensor);
    const reference::BlockFp8 expected = reference::block_fp8(w, power_of_two);
    EXPECT_EQ(found.dtype, "F8_E4M3");
    EXPECT_EQ(found.shape, tensor.shape);
    expect_bytes(found, expected.codes, name);
    const StoredTensor& scales = output.at(name + "_scale_inv");
    EXPECT_EQ(scales.dtype, "F32");
    EXPECT_EQ(scales.shape, (std::vector<int64_t>{(w.rows + 127) / 128, (w.cols + 127) / 128}));
    expect_bytes(scales, expected.scales, name);
    std::vector<double> decoded;
    for (int64_t r = 0; r < w.rows; ++r) {
      for (int64_t c = 0; c < w.cols; ++c) {
        const auto block = static_cast<size_t>(r / 128 * ((w.cols + 127) / 128) + c / 128);
        const auto code = expected.codes[static_cast<size_t>(r * w.cols + c)];
        decoded.push_back(reference::e4m3_value(code) * expected.scales[block]);
      }
    }
    // Three mantissa bits: at most 2^-4 relative for each element, about 2.6 % in the mean.
    EXPECT_LT(reference::relative_error(decoded, w.values), 0.030) << name;
  }
  EXPECT_EQ(output.size(), expected_tensors);
}

float scalar(const StoredTensor& tensor) {
  EXPECT_EQ(tensor.dtype, "F32");
  EXPECT_EQ(tensor.bytes.size(), 4U);
  return reference::elements<float>(tensor).at(0);
}

void expect_nvfp4(const Tensors& source, const Tensors& output, bool with_input_scale) {
  size_t expected_tensors = 0;
  for (const auto& [name, tensor] : source) {
    ASSERT_TRUE(output.contains(name)) << name;
    const StoredTensor& found = output.at(name);
    ++expected_tensors;
    if (!is_projection(name)) {
      EXPECT_EQ(found.bytes, tensor.bytes) << name;
      continue;
    }
    expected_tensors += with_input_scale ? 3 : 2;
    const reference::Matrix w = reference::matrix_of(tensor);
    const float g = scalar(output.at(name + "_scale_2"));
    const reference::Nvfp4 expected = reference::nvfp4(w, g);
    EXPECT_EQ(found.dtype, "U8");
    EXPECT_EQ(found.shape, (std::vector<int64_t>{w.rows, w.cols / 2}));
    expect_bytes(found, expected.codes, name);
    const StoredTensor& scales = output.at(name + "_scale");
    EXPECT_EQ(scales.dtype, "F8_E4M3");
    EXPECT_EQ(scales.shape, (std::vector<int64_t>{w.rows, w.cols / 16}));
    expect_bytes(scales, expected.scales, name);
    EXPECT_EQ(output.contains(module_of(name) + ".input_scale"), with_input_scale);
    std::vector<double> decoded;
    for (size_t i = 0; i < w.values.size(); ++i) {
      const int byte = expected.codes[i / 2];
      const int code = i % 2 == 0 ? byte & 15 : byte >> 4;
      decoded.push_back(
          reference::e2m1_value(code) * reference::e4m3_value(expected.scales[i / 16]) * g
      );
    }
    EXPECT_LT(reference::relative_error(decoded, w.values), 0.12) << name;
  }
  EXPECT_EQ(output.size(), expected_tensors);
}

// The global scale of a fused group: from the largest |w| of all its members.
void expect_shared_scale(
    const Tensors& source, const Tensors& output, const std::vector<std::string>& modules
) {
  double amax = 0;
  for (const std::string& m : modules) {
    for (double v : reference::matrix_of(source.at(m + ".weight")).values)
      amax = std::max(amax, std::fabs(v));
  }
  const float g = scalar(output.at(modules[0] + ".weight_scale_2"));
  EXPECT_GE(static_cast<double>(g), amax / 2688 * (1 - 1e-7));
  EXPECT_LE(static_cast<double>(g), amax / 2688 * (1 + 1e-6));
  EXPECT_EQ(1.0F / (1.0F / g), g);
  for (const std::string& m : modules) {
    EXPECT_EQ(
        output.at(m + ".weight_scale_2").bytes, output.at(modules[0] + ".weight_scale_2").bytes
    );
  }
}

TEST(Apply, BlockFp8EqualsTheDefinition) {
  const fs::path source = fresh_path("apply-fp8-in");
  const fs::path output = fresh_path("apply-fp8-out");
  RandomCheckpoint options;
  // Ragged in both directions, and odd, so that scales lie at odd offsets of the file.
  options.hidden = 131;
  options.intermediate = 331;
  write_random_checkpoint(source, options);
  quantize(source, output, "fp8-block");
  expect_block_fp8(reference::read_folder(source), reference::read_folder(output), false);
}

TEST(Apply, PowerOfTwoScales) {
  const fs::path source = fresh_path("apply-ue8m0-in");
  const fs::path output = fresh_path("apply-ue8m0-out");
  write_random_checkpoint(source, {});
  ApplyOptions options;
  options.scale_kind = ScaleKind::kUe8m0;
  quantize(source, output, "fp8-block", options);
  expect_block_fp8(reference::read_folder(source), reference::read_folder(output), true);
  const auto config = nlohmann::json::parse(folder_bytes(output).at("config.json"));
  EXPECT_EQ(config["quantization_config"]["scale_fmt"], "ue8m0");
}

TEST(Apply, Nvfp4EqualsTheDefinitionAndSharesScales) {
  const fs::path source = fresh_path("apply-fp4-in");
  const fs::path output = fresh_path("apply-fp4-out");
  RandomCheckpoint options;
  options.dtype = DType::kF32;
  options.intermediate = 336;
  write_random_checkpoint(source, options);
  quantize(source, output, "nvfp4a16");
  const Tensors in = reference::read_folder(source);
  const Tensors out = reference::read_folder(output);
  expect_nvfp4(in, out, false);
  for (const std::string layer : {"model.layers.0.", "model.layers.1."}) {
    expect_shared_scale(
        in,
        out,
        {layer + "self_attn.q_proj", layer + "self_attn.k_proj", layer + "self_attn.v_proj"}
    );
    expect_shared_scale(in, out, {layer + "mlp.gate_proj", layer + "mlp.up_proj"});
    expect_shared_scale(in, out, {layer + "mlp.down_proj"});
  }
}

TEST(Apply, RoutedExpertsShareTheScaleOfGateAndUp) {
  const fs::path source = fresh_path("apply-moe-in");
  const fs::path output = fresh_path("apply-moe-out");
  RandomCheckpoint options;
  options.architecture = "Qwen3MoeForCausalLM";
  options.experts = 3;
  options.intermediate = 64;
  write_random_checkpoint(source, options);
  quantize(source, output, "nvfp4a16");
  const Tensors in = reference::read_folder(source);
  const Tensors out = reference::read_folder(output);
  for (int e = 0; e < 3; ++e) {
    const std::string expert = "model.layers.1.mlp.experts." + std::to_string(e) + ".";
    expect_shared_scale(in, out, {expert + "gate_proj", expert + "up_proj"});
  }
  // The router stays.
  EXPECT_EQ(
      out.at("model.layers.1.mlp.gate.weight").bytes, in.at("model.layers.1.mlp.gate.weight").bytes
  );
}

TEST(Apply, TheIncludedModel) {
  const fs::path demo = fs::path(HONE_SOURCE_DIR) / "recipes" / "demo";
  const Tensors in = reference::read_folder(demo);
  const fs::path fp8 = fresh_path("apply-demo-fp8");
  quantize(demo, fp8, "fp8-block");
  expect_block_fp8(in, reference::read_folder(fp8), false);
  const fs::path fp4 = fresh_path("apply-demo-fp4");
  quantize(demo, fp4, "nvfp4a16");
  expect_nvfp4(in, reference::read_folder(fp4), false);
}

TEST(Apply, InputScalesAreWrittenForQuantizedActivations) {
  const fs::path source = fresh_path("apply-w4a4-in");
  const fs::path output = fresh_path("apply-w4a4-out");
  write_random_checkpoint(source, {});
  ApplyOptions options;
  options.input_scales["model.layers.0.self_attn.o_proj"] = 0.125F;
  quantize(source, output, "nvfp4", options);
  const Tensors out = reference::read_folder(output);
  expect_nvfp4(reference::read_folder(source), out, true);
  EXPECT_EQ(scalar(out.at("model.layers.0.self_attn.o_proj.input_scale")), 0.125F);
  EXPECT_EQ(scalar(out.at("model.layers.1.self_attn.o_proj.input_scale")), 0.5F);
}

TEST(Apply, AMissingInputScaleIsAnError) {
  const fs::path source = fresh_path("apply-noscale-in");
  const fs::path output = fresh_path("apply-noscale-out");
  write_random_checkpoint(source, {});
  const auto checkpoint = Checkpoint::open(source);
  const Plan plan = make_plan(request_for(*checkpoint, "nvfp4"));
  const std::string error = error_of([&] { apply_plan(*checkpoint, plan, output, {}); });
  EXPECT_THAT(error, HasSubstr("no calibrated input scale"));
  EXPECT_THAT(error, HasSubstr("nvfp4a16"));
  EXPECT_FALSE(fs::exists(output));
}

// ---- the folder

TEST(Apply, Fp8ConfigAndSideFiles) {
  const fs::path source = fresh_path("apply-files-in");
  const fs::path output = fresh_path("apply-files-out");
  write_random_checkpoint(source, {});
  write_text_file(source / "README.md", "the base's card");
  write_text_file(source / "LICENSE", "MIT");
  quantize(source, output, "fp8-block");
  const auto in = folder_bytes(source);
  const auto out = folder_bytes(output);
  for (const char* name :
       {"tokenizer.json",
        "tokenizer_config.json",
        "generation_config.json",
        "chat_template.jinja",
        "LICENSE"}) {
    ASSERT_TRUE(out.contains(name)) << name;
    EXPECT_EQ(out.at(name), in.at(name));
  }
  EXPECT_FALSE(out.contains("README.md"));
  EXPECT_FALSE(out.contains("hf_quant_config.json"));

  const auto config = nlohmann::json::parse(out.at("config.json"));
  EXPECT_EQ(config["hidden_size"], 256);
  const auto& q = config["quantization_config"];
  EXPECT_EQ(q["quant_method"], "fp8");
  EXPECT_EQ(q["fmt"], "e4m3");
  EXPECT_FALSE(q.contains("scale_fmt"));
  EXPECT_EQ(q["activation_scheme"], "dynamic");
  EXPECT_EQ(q["weight_block_size"], (nlohmann::json{128, 128}));
  EXPECT_THAT(
      q["modules_to_not_convert"].get<std::vector<std::string>>(), ::testing::ElementsAre("lm_head")
  );
}

TEST(Apply, ModeloptConfigNamesWhatStays) {
  const fs::path source = fresh_path("apply-modelopt-in");
  const fs::path output = fresh_path("apply-modelopt-out");
  RandomCheckpoint tied;
  tied.tied = true;
  write_random_checkpoint(source, tied);
  quantize(source, output, "nvfp4", {}, {"*.layers.0.*=keep"});
  const auto out = folder_bytes(output);
  const auto hf = nlohmann::json::parse(out.at("hf_quant_config.json"))["quantization"];
  EXPECT_EQ(hf["quant_algo"], "NVFP4");
  EXPECT_EQ(hf["group_size"], 16);
  EXPECT_TRUE(hf.contains("kv_cache_quant_algo"));
  const auto excluded = hf["exclude_modules"].get<std::vector<std::string>>();
  // The tied head has no tensor, but engines ask about it.
  EXPECT_THAT(excluded, ::testing::Contains("lm_head"));
  EXPECT_THAT(excluded, ::testing::Contains("model.layers.0.mlp.up_proj"));
  EXPECT_THAT(excluded, ::testing::Not(::testing::Contains("model.layers.1.mlp.up_proj")));
  EXPECT_THAT(excluded, ::testing::Not(::testing::Contains("model.embed_tokens")));
  const auto q = nlohmann::json::parse(out.at("config.json"))["quantization_config"];
  EXPECT_EQ(q["quant_method"], "modelopt");
  EXPECT_EQ(q["quant_algo"], "NVFP4");
}

TEST(Apply, OurOwnReaderReadsItBack) {
  const fs::path source = fresh_path("apply-read-in");
  for (const char* scheme : {"fp8-block", "nvfp4", "nvfp4a16"}) {
    const fs::path output = fresh_path("apply-read-out");
    fs::remove_all(source);
    write_random_checkpoint(source, {});
    quantize(source, output, scheme);
    const auto checkpoint = Checkpoint::open(output);
    const Dialect* dialect = detect_dialect(*checkpoint);
    ASSERT_NE(dialect, nullptr);
    EXPECT_EQ(dialect->modules(*checkpoint).size(), 14U);
    const QuantizedTensor t = dialect->read(*checkpoint, "model.layers.0.mlp.up_proj");
    EXPECT_EQ(t.format, find_scheme(scheme)->format);
    EXPECT_EQ(t.activation, find_scheme(scheme)->activation);
    EXPECT_EQ(t.rows, 384);
    EXPECT_EQ(t.cols, 256);
  }
}

TEST(Apply, ShardsAndTheirIndex) {
  const fs::path source = fresh_path("apply-shards-in");
  const fs::path output = fresh_path("apply-shards-out");
  RandomCheckpoint sharded;
  sharded.max_shard_bytes = 300'000;
  write_random_checkpoint(source, sharded);
  ApplyOptions options;
  options.max_shard_bytes = 200'000;
  quantize(source, output, "fp8-block", options);
  expect_block_fp8(reference::read_folder(source), reference::read_folder(output), false);
  const auto out = folder_bytes(output);
  const auto index = nlohmann::json::parse(out.at("model.safetensors.index.json"));
  int64_t bytes = 0;
  const Tensors tensors = reference::read_folder(output);
  for (const auto& [name, tensor] : tensors) {
    bytes += static_cast<int64_t>(tensor.bytes.size());
    ASSERT_TRUE(index["weight_map"].contains(name)) << name;
    EXPECT_TRUE(out.contains(index["weight_map"][name].get<std::string>()));
  }
  EXPECT_EQ(index["weight_map"].size(), tensors.size());
  EXPECT_EQ(index["metadata"]["total_size"], bytes);
}

// ---- determinism

TEST(Apply, ThreadsSlabsAndRunsDoNotChangeTheBytes) {
  const fs::path source = fresh_path("apply-same-in");
  RandomCheckpoint options;
  options.intermediate = 1040;
  write_random_checkpoint(source, options);
  for (const char* scheme : {"fp8-block", "nvfp4a16"}) {
    const fs::path first = fresh_path("apply-same-1");
    quantize(source, first, scheme);
    const fs::path second = fresh_path("apply-same-2");
    ApplyOptions small;
    small.slab_bytes = 1;
    ThreadPool::set_threads(3);
    quantize(source, second, scheme, small);
    ThreadPool::set_threads(2);
    EXPECT_EQ(folder_bytes(first), folder_bytes(second)) << scheme;
  }
}

TEST(Apply, SearchedScalesDoNotDependOnThreadsAndSlabs) {
  const fs::path source = fresh_path("apply-search-in");
  RandomCheckpoint options;
  options.intermediate = 1040;
  write_random_checkpoint(source, options);
  for (const ScaleChoice choice : {ScaleChoice::kMse, ScaleChoice::kFourOverSix}) {
    ApplyOptions searched;
    searched.scale = choice;
    searched.column_weights["model.layers.0.mlp.down_proj"] = std::vector<float>(1040, 0.5F);
    searched.column_weights["model.layers.0.mlp.down_proj"][3] = 100.0F;
    const fs::path first = fresh_path("apply-search-1");
    quantize(source, first, "nvfp4a16", searched);
    searched.slab_bytes = 1;
    ThreadPool::set_threads(3);
    const fs::path second = fresh_path("apply-search-2");
    quantize(source, second, "nvfp4a16", searched);
    ThreadPool::set_threads(2);
    EXPECT_EQ(folder_bytes(first), folder_bytes(second)) << scale_choice_name(choice);
  }
}

TEST(Apply, SearchedScalesErrLessAndFusedGroupsStillShareOne) {
  const fs::path source = fresh_path("apply-less-in");
  write_random_checkpoint(source, {});
  const Tensors weights = reference::read_folder(source);
  const auto errors = [&](ScaleChoice choice) {
    const fs::path folder = fresh_path("apply-less-out");
    ApplyOptions options;
    options.scale = choice;
    quantize(source, folder, "nvfp4a16", options);
    const auto checkpoint = Checkpoint::open(folder);
    const Dialect* dialect = detect_dialect(*checkpoint);
    std::map<std::string, double> found;
    std::map<std::string, float> globals;
    for (const std::string& module : dialect->modules(*checkpoint)) {
      const QuantizedTensor tensor = dialect->read(*checkpoint, module);
      std::vector<float> decoded(static_cast<size_t>(tensor.rows * tensor.cols));
      dequantize_rows(tensor, 0, tensor.rows, decoded.data());
      const reference::Matrix w = reference::matrix_of(weights.at(module + ".weight"));
      found[module] = reference::relative_error({decoded.begin(), decoded.end()}, w.values);
      globals[module] = tensor.global.value;
    }
    const std::string layer = "model.layers.0.";
    EXPECT_EQ(globals.at(layer + "self_attn.q_proj"), globals.at(layer + "self_attn.v_proj"));
    EXPECT_EQ(globals.at(layer + "mlp.gate_proj"), globals.at(layer + "mlp.up_proj"));
    return found;
  };
  const auto amax = errors(ScaleChoice::kAmax);
  const auto mse = errors(ScaleChoice::kMse);
  const auto four_over_six = errors(ScaleChoice::kFourOverSix);
  for (const auto& [module, error] : amax) {
    EXPECT_LT(four_over_six.at(module), error) << module;
    EXPECT_LT(mse.at(module), 0.96 * error) << module;
    EXPECT_LT(mse.at(module), four_over_six.at(module)) << module;
  }
}

// ---- bad input

TEST(Apply, NanAndInfinityAreNamedWithTheirPlace) {
  constexpr uint16_t kNan = 0x7FC1;
  constexpr uint16_t kMinusInfinity = 0xFF80;
  const std::string up = "model.layers.1.mlp.up_proj.weight";
  for (const char* scheme : {"fp8-block", "nvfp4a16"}) {
    for (const auto& [tensor, bits, value] :
         {std::tuple{up, kNan, "nan"},
          std::tuple{up, kMinusInfinity, "-inf"},
          std::tuple{std::string("model.embed_tokens.weight"), kNan, "nan"}}) {
      const fs::path source = fresh_path("apply-nan-in");
      const fs::path output = fresh_path("apply-nan-out");
      write_random_checkpoint(source, {});
      testing_fixture::poke_bf16(source, tensor, 5 * 256 + 9, bits);
      const std::string error = error_of([&] { quantize(source, output, scheme); });
      EXPECT_THAT(error, HasSubstr("tensor " + tensor + " holds " + value));
      EXPECT_THAT(error, HasSubstr("[5, 9] (element 1289)"));
      EXPECT_THAT(error, HasSubstr("model.safetensors"));
      EXPECT_FALSE(fs::exists(output));
      EXPECT_FALSE(fs::exists(output.string() + ".partial"));
    }
  }
}

TEST(Apply, AllZeroTensorsAndBlocks) {
  const fs::path source = fresh_path("apply-zero-in");
  write_random_checkpoint(source, {});
  testing_fixture::zero_tensor(source, "model.layers.0.mlp.down_proj.weight");
  testing_fixture::zero_tensor(source, "model.layers.0.mlp.gate_proj.weight");
  for (int64_t i = 0; i < 16; ++i) {
    testing_fixture::poke_bf16(source, "model.layers.1.self_attn.o_proj.weight", i, 0);
  }
  const Tensors in = reference::read_folder(source);
  const fs::path fp8 = fresh_path("apply-zero-fp8");
  quantize(source, fp8, "fp8-block");
  const Tensors fp8_out = reference::read_folder(fp8);
  const std::string zero = "model.layers.0.mlp.down_proj.weight";
  for (float scale : reference::elements<float>(fp8_out.at(zero + "_scale_inv"))) {
    EXPECT_EQ(scale, 1.0F);
  }
  const fs::path fp4 = fresh_path("apply-zero-fp4");
  quantize(source, fp4, "nvfp4a16");
  const Tensors fp4_out = reference::read_folder(fp4);
  EXPECT_EQ(scalar(fp4_out.at(zero + "_scale_2")), 1.0F);
  for (const auto* out : {&fp8_out, &fp4_out}) {
    EXPECT_EQ(out->at(zero).bytes, std::string(out->at(zero).bytes.size(), '\0'));
  }
  // A zero partner does not disturb the scale of its group.
  expect_shared_scale(in, fp4_out, {"model.layers.0.mlp.gate_proj", "model.layers.0.mlp.up_proj"});
  for (char byte : fp4_out.at("model.layers.1.self_attn.o_proj.weight").bytes.substr(0, 8)) {
    EXPECT_EQ(byte, 0);
  }
}

TEST(Apply, AFullDiskLeavesNothing) {
  const fs::path source = fresh_path("apply-full-in");
  write_random_checkpoint(source, {});
  int64_t size = 0;
  for (const auto& [name, bytes] : folder_bytes(source)) size += static_cast<int64_t>(bytes.size());
  for (const int64_t limit : {int64_t{0}, int64_t{100}, size / 4, size / 2 - 1000}) {
    const fs::path output = fresh_path("apply-full-out");
    inject_write_fault_after(limit);
    const std::string error = error_of([&] { quantize(source, output, "fp8-block"); });
    inject_write_fault_after(-1);
    EXPECT_THAT(error, HasSubstr("disk full")) << limit;
    EXPECT_THAT(error, HasSubstr("apply-full-out")) << limit;
    EXPECT_FALSE(fs::exists(output));
    EXPECT_FALSE(fs::exists(output.string() + ".partial"));
  }
}

TEST(Apply, CancellingLeavesNothing) {
  const fs::path source = fresh_path("apply-cancel-in");
  const fs::path output = fresh_path("apply-cancel-out");
  write_random_checkpoint(source, {});
  request_cancel();
  EXPECT_THROW(quantize(source, output, "fp8-block"), Cancelled);
  reset_cancel();
  EXPECT_FALSE(fs::exists(output));
  EXPECT_FALSE(fs::exists(output.string() + ".partial"));
}

// ---- block FP8 as the source

TEST(Apply, BlockFp8BecomesNvfp4WithoutRoundingTwice) {
  const fs::path source = fresh_path("apply-chain-in");
  const fs::path fp8 = fresh_path("apply-chain-fp8");
  const fs::path output = fresh_path("apply-chain-out");
  write_random_checkpoint(source, {});
  quantize(source, fp8, "fp8-block");
  quantize(fp8, output, "nvfp4a16", {}, {"attn.*=keep"});
  const Tensors in = reference::read_folder(fp8);
  const Tensors out = reference::read_folder(output);
  for (const auto& [name, tensor] : in) {
    if (name.ends_with("_scale_inv")) {
      EXPECT_FALSE(out.contains(name));
      continue;
    }
    if (!is_projection(name)) {
      EXPECT_EQ(out.at(name).bytes, tensor.bytes);
      continue;
    }
    // What the stored FP8 means, in float32 as the format is defined.
    reference::Matrix w{tensor.shape[0], tensor.shape[1], {}};
    const auto scales = reference::elements<float>(in.at(name + "_scale_inv"));
    for (int64_t r = 0; r < w.rows; ++r) {
      for (int64_t c = 0; c < w.cols; ++c) {
        const auto code = static_cast<uint8_t>(tensor.bytes[static_cast<size_t>(r * w.cols + c)]);
        const auto block = static_cast<size_t>(r / 128 * ((w.cols + 127) / 128) + c / 128);
        w.values.push_back(static_cast<float>(reference::e4m3_value(code) * scales[block]));
      }
    }
    if (name.find("self_attn") != std::string::npos) {
      EXPECT_EQ(out.at(name).dtype, "BF16");
      const reference::Matrix kept = reference::matrix_of(out.at(name));
      for (size_t i = 0; i < w.values.size(); ++i) {
        ASSERT_NEAR(kept.values[i], w.values[i], std::fabs(w.values[i]) / 256);
      }
      continue;
    }
    const float g = scalar(out.at(name + "_scale_2"));
    expect_bytes(out.at(name), reference::nvfp4(w, g).codes, name);
    expect_bytes(out.at(name + "_scale"), reference::nvfp4(w, g).scales, name);
  }
  const auto config = nlohmann::json::parse(folder_bytes(output).at("config.json"));
  EXPECT_EQ(config["quantization_config"]["quant_method"], "modelopt");
}

TEST(Apply, OneFloatScaleMeansNoScaleFormat) {
  const fs::path source = fresh_path("apply-mix-in");
  const fs::path part = fresh_path("apply-mix-part");
  const fs::path output = fresh_path("apply-mix-out");
  write_random_checkpoint(source, {});
  quantize(source, part, "fp8-block", {}, {"mlp.*=keep"});
  ApplyOptions options;
  options.scale_kind = ScaleKind::kUe8m0;
  quantize(part, output, "fp8-block", options);
  const auto config = nlohmann::json::parse(folder_bytes(output).at("config.json"));
  EXPECT_FALSE(config["quantization_config"].contains("scale_fmt"));
}

TEST(Apply, WhatIsBlockFp8AlreadyIsCarriedOver) {
  const fs::path source = fresh_path("apply-more-in");
  const fs::path part = fresh_path("apply-more-part");
  const fs::path output = fresh_path("apply-more-out");
  const fs::path whole = fresh_path("apply-more-whole");
  write_random_checkpoint(source, {});
  quantize(source, part, "fp8-block", {}, {"mlp.*=keep"});
  quantize(part, output, "fp8-block");
  quantize(source, whole, "fp8-block");
  EXPECT_EQ(folder_bytes(output), folder_bytes(whole));
}

// ---- dialects

TEST(Apply, CompressedTensorsHoldsTheSameBytesAndTheReciprocalScalars) {
  const fs::path source = fresh_path("apply-ct-in");
  const fs::path modelopt = fresh_path("apply-ct-modelopt");
  const fs::path output = fresh_path("apply-ct-out");
  write_random_checkpoint(source, {});
  ApplyOptions options;
  options.input_scales["model.layers.0.mlp.up_proj"] = nvfp4_global_scale(37.0F);
  options.input_scales["model.layers.0.mlp.gate_proj"] = nvfp4_global_scale(37.0F);
  quantize(source, modelopt, "nvfp4", options);
  quantize(source, output, "nvfp4", options, {}, "compressed-tensors");
  const Tensors theirs = reference::read_folder(modelopt);
  const Tensors ours = reference::read_folder(output);
  EXPECT_EQ(ours.size(), theirs.size());
  for (const auto& [name, tensor] : theirs) {
    if (!is_projection(name)) {
      EXPECT_EQ(ours.at(name).bytes, tensor.bytes) << name;
    } else if (name.ends_with(".weight")) {
      EXPECT_EQ(ours.at(name + "_packed").bytes, tensor.bytes) << name;
    } else if (name.ends_with(".weight_scale")) {
      EXPECT_EQ(ours.at(name).bytes, tensor.bytes) << name;
    } else {
      const bool weight = name.ends_with(".weight_scale_2");
      const float divisor = scalar(
          ours.at(module_of(name) + (weight ? ".weight_global_scale" : ".input_global_scale"))
      );
      EXPECT_EQ(divisor, 1.0F / scalar(tensor)) << name;
      // And back: the scalars were chosen so.
      EXPECT_EQ(1.0F / divisor, scalar(tensor)) << name;
    }
  }
  const auto files = folder_bytes(output);
  EXPECT_FALSE(files.contains("hf_quant_config.json"));
  const auto config = nlohmann::json::parse(files.at("config.json"))["quantization_config"];
  EXPECT_EQ(config["quant_method"], "compressed-tensors");
  EXPECT_EQ(config["ignore"], nlohmann::json::array({"lm_head"}));
}

TEST(Apply, EverySchemeInEveryDialectIsReadBack) {
  const fs::path source = fresh_path("apply-every-in");
  RandomCheckpoint shape;
  shape.layers = 1;
  write_random_checkpoint(source, shape);
  const auto original = Checkpoint::open(source);
  const std::string module = "model.layers.0.mlp.down_proj";
  const TensorView weight = original->tensor(module + ".weight");
  std::vector<float> expected(static_cast<size_t>(weight.numel()));
  load_floats(weight.type, weight.data, weight.numel(), expected.data());
  int written = 0;
  for (const Scheme& scheme : schemes()) {
    for (const Dialect* dialect : dialects()) {
      if (dialect->refuses({"m", scheme.format, scheme.activation, 128, 128})) continue;
      const fs::path output = fresh_path("apply-every-out");
      quantize(source, output, scheme.name.data(), {}, {}, std::string(dialect->name()));
      const auto checkpoint = Checkpoint::open(output);
      ASSERT_EQ(detect_dialect(*checkpoint), dialect) << scheme.name;
      EXPECT_EQ(dialect->modules(*checkpoint).size(), 7U) << scheme.name;
      const QuantizedTensor read = dialect->read(*checkpoint, module);
      EXPECT_EQ(read.format, scheme.format);
      EXPECT_EQ(read.activation, scheme.activation);
      std::vector<float> values(expected.size());
      dequantize_rows(read, 0, read.rows, values.data());
      EXPECT_LT(
          reference::relative_error(
              {values.begin(), values.end()}, {expected.begin(), expected.end()}
          ),
          0.13
      ) << scheme.name
        << " in " << dialect->name();
      ++written;
    }
  }
  EXPECT_EQ(written, 16);
}

TEST(Apply, SeveralSchemesInOneFolder) {
  const fs::path source = fresh_path("apply-several-in");
  const fs::path output = fresh_path("apply-several-out");
  const fs::path only = fresh_path("apply-several-only");
  write_random_checkpoint(source, {});
  quantize(source, output, "nvfp4a16", {}, {"attn.*=fp8-dynamic"});
  quantize(source, only, "nvfp4a16", {}, {}, "compressed-tensors");
  const auto checkpoint = Checkpoint::open(output);
  const Dialect* dialect = detect_dialect(*checkpoint);
  ASSERT_NE(dialect, nullptr);
  EXPECT_EQ(dialect->name(), "compressed-tensors");
  EXPECT_EQ(dialect->modules(*checkpoint).size(), 14U);
  const std::string layer = "model.layers.1.";
  EXPECT_EQ(dialect->read(*checkpoint, layer + "self_attn.q_proj").format, Format::kFp8Channel);
  EXPECT_EQ(
      dialect->read(*checkpoint, layer + "self_attn.q_proj").activation, ActivationRule::kFp8Token
  );
  // What the rule did not touch is as it would be alone.
  const Tensors mixed = reference::read_folder(output);
  const Tensors alone = reference::read_folder(only);
  for (const char* part : {".weight_packed", ".weight_scale", ".weight_global_scale"}) {
    EXPECT_EQ(
        mixed.at(layer + "mlp.up_proj" + part).bytes, alone.at(layer + "mlp.up_proj" + part).bytes
    );
  }
}

TEST(Apply, KvCacheSchemesAndOldSectionsFollowTheDialect) {
  const fs::path source = fresh_path("apply-kv-in");
  const fs::path part = fresh_path("apply-kv-part");
  const fs::path output = fresh_path("apply-kv-out");
  write_random_checkpoint(source, {});
  quantize(source, part, "fp8-dynamic", {}, {"mlp.*=keep"});
  // As another tool would have left it: a KV scheme, and the section in the text part.
  Json config = read_json_file(part / "config.json");
  Json section = config["quantization_config"];
  section["kv_cache_scheme"] = {{"num_bits", 8}, {"type", "float"}};
  config.erase("quantization_config");
  config["text_config"] = {{"quantization_config", section}};
  write_json_file(part / "config.json", config);
  quantize(part, output, "fp8-dynamic");
  const Json written = read_json_file(output / "config.json");
  EXPECT_FALSE(written["text_config"].contains("quantization_config"));
  const auto checkpoint = Checkpoint::open(output);
  EXPECT_EQ(detect_dialect(*checkpoint)->kv_cache(*checkpoint), KvCacheFormat::kFp8);
  EXPECT_EQ(detect_dialect(*checkpoint)->modules(*checkpoint).size(), 14U);
}

TEST(Apply, PackedCodesAreNotTurnedIntoBf16) {
  const fs::path source = fresh_path("apply-packed-in");
  const fs::path part = fresh_path("apply-packed-part");
  write_random_checkpoint(source, {});
  quantize(source, part, "nvfp4a16", {}, {"attn.*=keep"}, "compressed-tensors");
  EXPECT_THAT(
      error_of([&] {
        quantize(part, fresh_path("apply-packed-out"), "fp8-block", {}, {"mlp.*=keep"});
      }),
      HasSubstr("would have to become BF16")
  );
}

// ---- kill -9

void quantize_until_killed(const fs::path& source, const fs::path& output) {
  const fs::path partial = output.string() + ".partial";
  std::jthread killer([&] {
    for (;;) {
      uintmax_t bytes = 0;
      std::error_code ignored;
      for (const auto& entry : fs::directory_iterator(partial, ignored)) {
        const uintmax_t size = entry.file_size(ignored);
        if (!ignored) bytes += size;
      }
      // Some of the weights are on the disk, most are not.
      if (bytes > 1'500'000) ::kill(::getpid(), SIGKILL);
      std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
  });
  quantize(source, output, "fp8-block");
  std::_Exit(0);
}

TEST(ApplyDeathTest, Kill9LeavesNothingThatLooksCompleteAndTheNextRunSucceeds) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  // The child runs this test from its beginning, so the paths are the same in both.
  const fs::path base =
      fs::path(::testing::TempDir()) /
      ("hone-kill-" +
       std::to_string(std::hash<std::string>()(fs::read_symlink("/proc/self/exe").string())));
  const fs::path source = base / "source";
  const fs::path output = base / "killed";
  if (!fs::exists(source)) {
    fs::create_directories(base);
    RandomCheckpoint options;
    options.hidden = 512;
    options.intermediate = 3072;
    options.heads = 8;
    options.kv_heads = 8;
    write_random_checkpoint(source, options);
  }
  EXPECT_EXIT(quantize_until_killed(source, output), ::testing::KilledBySignal(SIGKILL), "");
  EXPECT_FALSE(fs::exists(output));
  EXPECT_TRUE(fs::exists(output.string() + ".partial"));

  quantize(source, output, "fp8-block");
  EXPECT_FALSE(fs::exists(output.string() + ".partial"));
  quantize(source, base / "undisturbed", "fp8-block");
  EXPECT_EQ(folder_bytes(output), folder_bytes(base / "undisturbed"));
  fs::remove_all(base);
}

}  // namespace
}  // namespace hone
