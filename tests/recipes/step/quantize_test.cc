#include "recipes/step/quantize.h"

#include <functional>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "core/base/error.h"
#include "core/base/file.h"
#include "core/base/hash.h"
#include "recipes/engine/manifest.h"
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

QuantizeStep step_for(const fs::path& model, const fs::path& output, const char* scheme) {
  QuantizeStep step;
  step.model = model.string();
  step.output = output.string();
  step.scheme = scheme;
  return step;
}

std::string error_of(const std::function<void()>& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

// What calibration would measure on a random checkpoint; sensitivities rise with the layer.
fs::path write_stats(const fs::path& model, const std::string& name, bool with_sensitivity) {
  CalibrationStats stats;
  stats.model_hash = Checkpoint::open(model)->content_hash();
  stats.corpus_hash = "c0ffee";
  stats.tokens = 1000;
  double kl = 1e-4;
  for (const auto& [tensor, shape] : testing_fixture::random_checkpoint_tensors({})) {
    if (tensor.find("_proj") == std::string::npos) continue;
    ModuleStats& m = stats.modules[tensor.substr(0, tensor.size() - 7)];
    m.rows = shape.dim(0);
    m.cols = shape.dim(1);
    m.tokens = 1000;
    m.input_amax = 4.0F;
    if (with_sensitivity) m.sensitivity["nvfp4"] = {kl, 1e-6};
    kl += 1e-4;
  }
  const fs::path path = fresh_path(name);
  stats.save(path);
  return path;
}

TEST(QuantizeStep, WritesACompleteFolder) {
  const fs::path model = fresh_path("step-in");
  const fs::path output = fresh_path("step-out");
  write_random_checkpoint(model, {});
  write_text_file(model / "README.md", "---\nlicense: mit\n---\n# Base\n");
  QuantizeStep step = step_for(model, output, "fp8-block");
  const StepOutcome outcome = step.run();
  EXPECT_EQ(outcome.exit_code, 0);
  EXPECT_EQ(outcome.summary["quantized_modules"], 14);
  EXPECT_FALSE(outcome.summary.contains("tensors"));

  const auto files = folder_bytes(output);
  for (const char* name :
       {"config.json",
        "model.safetensors",
        "tokenizer.json",
        "chat_template.jinja",
        "README.md",
        "hone.json"}) {
    EXPECT_TRUE(files.contains(name)) << name;
  }
  EXPECT_THAT(files.at("README.md"), HasSubstr("license: mit"));
  EXPECT_THAT(files.at("README.md"), HasSubstr("--scheme fp8-block"));
  const auto manifest = nlohmann::json::parse(files.at("hone.json"));
  EXPECT_EQ(manifest["step"], "quantize");
  EXPECT_EQ(manifest["options"]["scheme"], "fp8-block");
  EXPECT_EQ(manifest["outputs"]["model.safetensors"], sha256(files.at("model.safetensors")));
  EXPECT_EQ(manifest["outputs"]["config.json"], sha256(files.at("config.json")));
  EXPECT_EQ(files.at("hone.json").find(fs::path(::testing::TempDir()).string()), std::string::npos);
  StepOutcome recorded;
  EXPECT_TRUE(is_finished(step, cache_key(step), recorded));
  EXPECT_EQ(recorded.summary, outcome.summary);
}

TEST(QuantizeStep, TwoRunsGiveEqualBytes) {
  const fs::path model = fresh_path("step-same-in");
  write_random_checkpoint(model, {});
  for (const char* scheme : {"fp8-block", "nvfp4a16"}) {
    const fs::path first = fresh_path("step-same-a");
    const fs::path second = fresh_path("step-same-b");
    step_for(model, first, scheme).run();
    step_for(model, second, scheme).run();
    EXPECT_EQ(folder_bytes(first), folder_bytes(second));
  }
}

TEST(QuantizeStep, ReplacesItsOwnOutputAndNothingElse) {
  const fs::path model = fresh_path("step-replace-in");
  const fs::path output = fresh_path("step-replace-out");
  write_random_checkpoint(model, {});
  step_for(model, output, "fp8-block").run();
  step_for(model, output, "nvfp4a16").run();
  EXPECT_TRUE(fs::exists(output / "hf_quant_config.json"));

  const fs::path foreign = fresh_path("step-replace-foreign");
  fs::create_directories(foreign);
  write_text_file(foreign / "thesis.txt", "irreplaceable");
  EXPECT_THAT(
      error_of([&] { step_for(model, foreign, "fp8-block").run(); }), HasSubstr("not made by hone")
  );
  EXPECT_EQ(read_text_file(foreign / "thesis.txt"), "irreplaceable");
  EXPECT_THAT(
      error_of([&] { step_for(model, model, "fp8-block").run(); }), HasSubstr("is the model itself")
  );
}

TEST(QuantizeStep, W4A4TakesInputScalesFromStatistics) {
  const fs::path model = fresh_path("step-w4a4-in");
  const fs::path output = fresh_path("step-w4a4-out");
  write_random_checkpoint(model, {});
  QuantizeStep step = step_for(model, output, "nvfp4");
  EXPECT_THAT(error_of([&] { std::ignore = step.plan(); }), HasSubstr("run hone calibrate"));
  EXPECT_THAT(error_of([&] { step.run(); }), HasSubstr("run hone calibrate"));
  EXPECT_FALSE(fs::exists(output));
  step.stats = write_stats(model, "step-w4a4.h5", false).string();
  step.run();
  const auto tensors = reference::read_folder(output);
  const float scale =
      reference::elements<float>(tensors.at("model.layers.0.mlp.down_proj.input_scale")).at(0);
  EXPECT_NEAR(scale, 4.0 / 2688.0, 1e-9);
  EXPECT_THAT(folder_bytes(output).at("README.md"), HasSubstr("Calibrated on 1000 tokens"));
}

TEST(QuantizeStep, SelectAutoMeetsItsBudget) {
  const fs::path model = fresh_path("step-auto-in");
  const fs::path output = fresh_path("step-auto-out");
  write_random_checkpoint(model, {});
  QuantizeStep step = step_for(model, output, "nvfp4a16");
  step.stats = write_stats(model, "step-auto.h5", true).string();
  step.select = "auto";
  step.bits = 6.0;
  const StepOutcome outcome = step.run();
  const auto budget = outcome.summary.at("budget");
  EXPECT_LE(budget.at("achieved_bits").get<double>(), 6.0);
  EXPECT_GT(budget.at("achieved_bits").get<double>(), 5.0);
  // Statistics of this model raise no doubt.
  for (const auto& warning : outcome.summary.at("warnings")) EXPECT_NE(warning["engine"], "");
  EXPECT_THAT(folder_bytes(output).at("README.md"), HasSubstr("budget of 6.000 bits"));
}

TEST(QuantizeStep, StatisticsOfAnotherModelAreSaidSo) {
  const fs::path model = fresh_path("step-foreign-in");
  const fs::path output = fresh_path("step-foreign-out");
  write_random_checkpoint(model, {});
  const fs::path stats = write_stats(model, "step-foreign.h5", true);
  testing_fixture::poke_bf16(model, "model.norm.weight", 0, 0x4000);
  QuantizeStep step = step_for(model, output, "nvfp4");
  step.stats = stats.string();
  const StepOutcome outcome = step.run();
  EXPECT_THAT(
      outcome.summary.at("warnings").at(0).at("text").get<std::string>(),
      HasSubstr("another model or another version")
  );
}

TEST(QuantizeStep, StatisticsWithoutAModuleAreRefused) {
  const fs::path model = fresh_path("step-missing-in");
  write_random_checkpoint(model, {});
  const fs::path path = write_stats(model, "step-missing.h5", true);
  CalibrationStats stats = CalibrationStats::load(path);
  stats.modules.erase("model.layers.1.self_attn.v_proj");
  fs::remove(path);
  stats.save(path);
  QuantizeStep step = step_for(model, fresh_path("step-missing-out"), "nvfp4");
  step.stats = path.string();
  EXPECT_THAT(
      error_of([&] { std::ignore = step.plan(); }),
      HasSubstr("step-missing.h5: no statistics of model.layers.1.self_attn.v_proj")
  );
}

TEST(QuantizeStep, SearchedScalesAreWeightedByTheStatistics) {
  const fs::path model = fresh_path("step-search-in");
  write_random_checkpoint(model, {});
  const fs::path path = write_stats(model, "step-search.h5", false);
  CalibrationStats stats = CalibrationStats::load(path);
  for (auto& [module, measured] : stats.modules) {
    measured.input_channel_amax.assign(static_cast<size_t>(measured.cols), 4.0F);
    measured.input_mean_square.assign(static_cast<size_t>(measured.cols), 0.01);
    measured.input_mean_square[1] = 9.0;
  }
  fs::remove(path);
  stats.save(path);
  const auto weights = [&](const char* scale, bool with_stats) {
    const fs::path output = fresh_path("step-search-out");
    QuantizeStep step = step_for(model, output, "nvfp4a16");
    step.scale = scale;
    if (with_stats) step.stats = path.string();
    step.run();
    return folder_bytes(output).at("model.safetensors");
  };
  EXPECT_EQ(weights("amax", true), weights("amax", false));
  EXPECT_NE(weights("mse", false), weights("amax", false));
  EXPECT_NE(weights("mse", true), weights("mse", false));
  EXPECT_NE(weights("4over6", false), weights("amax", false));
}

TEST(QuantizeStep, OptionsThatContradictEachOther) {
  const fs::path model = fresh_path("step-options-in");
  write_random_checkpoint(model, {});
  const auto error = [&](const std::function<void(QuantizeStep&)>& change) {
    QuantizeStep step = step_for(model, fresh_path("step-options-out"), "nvfp4a16");
    change(step);
    return error_of([&] { step.run(); });
  };
  EXPECT_THAT(error([](auto& s) { s.scheme = ""; }), HasSubstr("needs --scheme: fp8-block"));
  EXPECT_THAT(error([](auto& s) { s.scheme = "int4"; }), HasSubstr("unknown scheme \"int4\""));
  EXPECT_THAT(error([](auto& s) { s.select = "best"; }), HasSubstr("known are rules and auto"));
  EXPECT_THAT(error([](auto& s) { s.select = "auto"; }), HasSubstr("needs --bits"));
  EXPECT_THAT(error([](auto& s) { s.bits = 5; }), HasSubstr("--select auto"));
  EXPECT_THAT(error([](auto& s) { s.scale_kind = "e8"; }), HasSubstr("unknown scale kind"));
  EXPECT_THAT(error([](auto& s) { s.scale = "best"; }), HasSubstr("known: amax, mse, 4over6"));
  EXPECT_THAT(
      error([](auto& s) {
        s.scheme = "fp8-block";
        s.scale = "4over6";
      }),
      HasSubstr("--scale 4over6 with scheme fp8-block: Four-Over-Six")
  );
  EXPECT_THAT(error([](auto& s) { s.engine = "tgi"; }), HasSubstr("unknown engine"));
  EXPECT_THAT(error([](auto& s) { s.dialect = "gguf"; }), HasSubstr("unknown dialect"));
  EXPECT_THAT(error([](auto& s) { s.max_shard_gb = 0; }), HasSubstr("max-shard-gb is 0"));
  EXPECT_THAT(error([](auto& s) { s.output = ""; }), HasSubstr("output folder"));
  EXPECT_THAT(error([](auto& s) { s.rules = {"attn.q"}; }), HasSubstr("pattern=format"));
  EXPECT_THAT(error([](auto& s) { s.model = "/nowhere"; }), HasSubstr("/nowhere"));
  EXPECT_THAT(error([](auto& s) { s.stats = "/nowhere.h5"; }), HasSubstr("/nowhere.h5"));
}

TEST(QuantizeStep, TheEngineAndTheDialectChooseTheNames) {
  const fs::path model = fresh_path("step-dialect-in");
  write_random_checkpoint(model, {});
  const auto method_of = [&](const char* scheme, const char* engine, const char* dialect) {
    const fs::path output = fresh_path("step-dialect-out");
    QuantizeStep step = step_for(model, output, scheme);
    step.engine = engine;
    step.dialect = dialect;
    step.run();
    const auto config = nlohmann::json::parse(read_text_file(output / "config.json"));
    return config["quantization_config"]["quant_method"].get<std::string>();
  };
  EXPECT_EQ(method_of("nvfp4a16", "", ""), "modelopt");
  EXPECT_EQ(method_of("nvfp4a16", "vllm", "compressed-tensors"), "compressed-tensors");
  EXPECT_EQ(method_of("fp8-block", "all", ""), "fp8");
  EXPECT_EQ(method_of("fp8-dynamic", "all", ""), "compressed-tensors");
  QuantizeStep step = step_for(model, fresh_path("step-dialect-out"), "nvfp4a16");
  step.engine = "all";
  EXPECT_THAT(error_of([&] { step.run(); }), HasSubstr("nearest that all engines load is nvfp4"));
}

TEST(QuantizeStep, RecipesFillTheSameFields) {
  QuantizeStep step;
  set_fields(
      step,
      Json::parse(R"({"model": "m", "output": "o", "scheme": "nvfp4", "rule": ["a=keep"],
                      "select": "auto", "bits": 5.0, "scale-kind": "ue8m0", "for": "vllm"})"),
      "step \"q\""
  );
  EXPECT_EQ(step.model, "m");
  EXPECT_EQ(step.rules, std::vector<std::string>{"a=keep"});
  EXPECT_EQ(step.bits, 5.0);
  EXPECT_EQ(step.engine, "vllm");
  EXPECT_EQ(option_values(step)["select"], "auto");
  EXPECT_EQ(output_path(step), "o");
}

TEST(QuantizeStep, RulesAreSplitAtCommasOutsideOfBraces) {
  using ::testing::ElementsAre;
  EXPECT_THAT(split_rules({"a=keep", "b=nvfp4"}), ElementsAre("a=keep", "b=nvfp4"));
  EXPECT_THAT(split_rules({"a=keep,b=nvfp4"}), ElementsAre("a=keep", "b=nvfp4"));
  EXPECT_THAT(split_rules({"attn.{q,k}=keep,b=keep"}), ElementsAre("attn.{q,k}=keep", "b=keep"));
  // As a flag parser that splits at every comma hands it over.
  EXPECT_THAT(
      split_rules({"attn.{q", "k", "v}=keep", "b=keep"}), ElementsAre("attn.{q,k,v}=keep", "b=keep")
  );
  EXPECT_TRUE(split_rules({}).empty());
  EXPECT_TRUE(split_rules({"", ","}).empty());
}

}  // namespace
}  // namespace hone
