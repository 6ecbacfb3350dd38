#include "quant/select/planner.h"

#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"

namespace hone {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

SourceTensor bf16(std::string name, Shape shape) {
  const int64_t bytes = 2 * shape.numel();
  return {std::move(name), DType::kBF16, std::move(shape), std::nullopt, bytes};
}

// The shapes of the included model.
PlanRequest llama(const char* scheme, int64_t layers = 6) {
  PlanRequest request;
  request.architecture = "LlamaForCausalLM";
  request.scheme = find_scheme(scheme);
  auto& t = request.tensors;
  t.push_back(bf16("model.embed_tokens.weight", {2048, 256}));
  for (int64_t i = 0; i < layers; ++i) {
    const std::string p = "model.layers." + std::to_string(i) + ".";
    t.push_back(bf16(p + "input_layernorm.weight", {256}));
    t.push_back(bf16(p + "mlp.down_proj.weight", {256, 768}));
    t.push_back(bf16(p + "mlp.gate_proj.weight", {768, 256}));
    t.push_back(bf16(p + "mlp.up_proj.weight", {768, 256}));
    t.push_back(bf16(p + "post_attention_layernorm.weight", {256}));
    t.push_back(bf16(p + "self_attn.k_proj.weight", {128, 256}));
    t.push_back(bf16(p + "self_attn.o_proj.weight", {256, 256}));
    t.push_back(bf16(p + "self_attn.q_proj.weight", {256, 256}));
    t.push_back(bf16(p + "self_attn.v_proj.weight", {128, 256}));
  }
  t.push_back(bf16("model.norm.weight", {256}));
  t.push_back(bf16("lm_head.weight", {2048, 256}));
  return request;
}

// DeepSeek-like: latent attention, a dense layer, a layer of experts with a shared one.
PlanRequest deepseek(const char* scheme, int64_t experts = 4) {
  PlanRequest request;
  request.architecture = "DeepseekV3ForCausalLM";
  request.scheme = find_scheme(scheme);
  auto& t = request.tensors;
  t.push_back(bf16("model.embed_tokens.weight", {1024, 256}));
  const auto mlp = [&](const std::string& p, int64_t width) {
    t.push_back(bf16(p + "gate_proj.weight", {width, 256}));
    t.push_back(bf16(p + "up_proj.weight", {width, 256}));
    t.push_back(bf16(p + "down_proj.weight", {256, width}));
  };
  for (int64_t i = 0; i < 3; ++i) {
    const std::string p = "model.layers." + std::to_string(i) + ".";
    t.push_back(bf16(p + "input_layernorm.weight", {256}));
    t.push_back(bf16(p + "self_attn.q_a_proj.weight", {128, 256}));
    t.push_back(bf16(p + "self_attn.q_a_layernorm.weight", {128}));
    t.push_back(bf16(p + "self_attn.q_b_proj.weight", {512, 128}));
    t.push_back(bf16(p + "self_attn.kv_a_proj_with_mqa.weight", {96, 256}));
    t.push_back(bf16(p + "self_attn.kv_b_proj.weight", {512, 64}));
    t.push_back(bf16(p + "self_attn.o_proj.weight", {256, 256}));
    if (i == 0) {
      mlp(p + "mlp.", 512);
      continue;
    }
    t.push_back(bf16(p + "mlp.gate.weight", {experts, 256}));
    t.push_back(
        {p + "mlp.gate.e_score_correction_bias", DType::kF32, {experts}, std::nullopt, 4 * experts}
    );
    for (int64_t e = 0; e < experts; ++e) mlp(p + "mlp.experts." + std::to_string(e) + ".", 128);
    mlp(p + "mlp.shared_experts.", 128);
  }
  t.push_back(bf16("model.norm.weight", {256}));
  t.push_back(bf16("lm_head.weight", {1024, 256}));
  return request;
}

void add_rules(PlanRequest& request, std::initializer_list<const char*> texts) {
  for (const char* text : texts) request.rules.push_back(Rule::parse(text));
}

const PlanEntry& find(const Plan& plan, const std::string& tensor) {
  for (const PlanEntry& e : plan.entries) {
    if (e.tensor == tensor) return e;
  }
  throw InternalError("no entry " + tensor);
}

std::string error_of(const PlanRequest& request) {
  try {
    make_plan(request);
  } catch (const Error& error) {
    return error.what();
  }
  return "(no error)";
}

// Compares with tests/golden/quant/<name>. After a wanted change run the test once with
// HONE_UPDATE_GOLDENS=1 and read the difference before committing it.
void expect_golden(const std::string& name, const std::string& found) {
  const std::string path = std::string(HONE_SOURCE_DIR) + "/tests/golden/quant/" + name;
  if (std::getenv("HONE_UPDATE_GOLDENS") != nullptr) std::ofstream(path) << found;
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  EXPECT_EQ(found, text.str()) << path;
}

TEST(Planner, TableOfADenseModel) {
  PlanRequest request = llama("nvfp4a16");
  add_rules(request, {"attn.*=keep", "*.layers.{0,5}.*=keep"});
  expect_golden("plan_llama_nvfp4a16.txt", plan_table(make_plan(request)));
}

TEST(Planner, TableOfAMixtureOfExperts) {
  expect_golden("plan_deepseek_nvfp4.txt", plan_table(make_plan(deepseek("nvfp4"))));
}

TEST(Planner, JsonHasEveryTensor) {
  PlanRequest request = llama("fp8-block", 1);
  const Json json = plan_json(make_plan(request));
  expect_golden("plan_llama_fp8_block.json", json.dump(2) + "\n");
}

TEST(Planner, DefaultsQuantizeProjectionsOnly) {
  const Plan plan = make_plan(llama("fp8-block"));
  EXPECT_EQ(plan.dialect, "fp8");
  int64_t quantized = 0;
  for (const PlanEntry& e : plan.entries) {
    if (e.scheme == nullptr) continue;
    ++quantized;
    EXPECT_TRUE(e.selectable);
    EXPECT_EQ(e.method, "rtn");
    EXPECT_NE(e.role, Role::kEmbedding);
    EXPECT_NE(e.role, Role::kLmHead);
  }
  EXPECT_EQ(quantized, 7 * 6);
  const PlanEntry& up = find(plan, "model.layers.0.mlp.up_proj.weight");
  // Codes, and 6 x 2 scales of 4 bytes.
  EXPECT_EQ(up.output_bytes, 768 * 256 + 4 * 6 * 2);
  EXPECT_EQ(up.fused_group, find(plan, "model.layers.0.mlp.gate_proj.weight").fused_group);
}

TEST(Planner, StoredBytesOfNvfp4) {
  const auto bytes = [](const char* scheme) {
    return find(make_plan(llama(scheme)), "model.layers.0.mlp.up_proj.weight").output_bytes;
  };
  constexpr int64_t kCodesAndScales = 768 * 256 / 2 + 768 * 256 / 16;
  EXPECT_EQ(bytes("nvfp4a16"), kCodesAndScales + 4);
  EXPECT_EQ(bytes("nvfp4"), kCodesAndScales + 8);
}

TEST(Planner, WhatDoesNotDivideIsKeptWithTheReason) {
  PlanRequest request = llama("nvfp4a16", 1);
  for (SourceTensor& t : request.tensors) {
    if (t.name.find("down_proj") != std::string::npos) t = bf16(t.name, {256, 760});
  }
  const Plan plan = make_plan(request);
  const PlanEntry& down = find(plan, "model.layers.0.mlp.down_proj.weight");
  EXPECT_EQ(down.scheme, nullptr);
  EXPECT_EQ(down.reason, "in_features 760 is not divisible by 16");
  EXPECT_NE(find(plan, "model.layers.0.mlp.up_proj.weight").scheme, nullptr);

  // Block FP8 has ragged edges.
  request.scheme = find_scheme("fp8-block");
  const Plan fp8 = make_plan(request);
  EXPECT_EQ(find(fp8, "model.layers.0.mlp.down_proj.weight").output_bytes, 256 * 760 + 4 * 2 * 6);
}

TEST(Planner, AnImpossibleRequestByNameIsAnError) {
  PlanRequest request = llama("nvfp4a16", 1);
  for (SourceTensor& t : request.tensors) {
    if (t.name.find("down_proj") != std::string::npos) t = bf16(t.name, {256, 760});
  }
  request.rules = {Rule::parse("mlp.down=nvfp4a16")};
  EXPECT_THAT(error_of(request), HasSubstr("in_features 760 is not divisible by 16"));
  EXPECT_THAT(error_of(request), HasSubstr("model.layers.0.mlp.down_proj.weight"));
  // A wildcard means "where possible".
  request.rules = {Rule::parse("mlp.*=nvfp4a16")};
  EXPECT_EQ(find(make_plan(request), "model.layers.0.mlp.down_proj.weight").scheme, nullptr);

  request.rules = {Rule::parse("embedding=nvfp4a16")};
  EXPECT_THAT(error_of(request), HasSubstr("looked up, not multiplied"));
  request.rules = {Rule::parse("model.norm.weight=nvfp4a16")};
  EXPECT_THAT(error_of(request), HasSubstr("which is impossible: norm"));
}

TEST(Planner, FusedPartnersOfWhatCannotBeQuantizedStayToo) {
  PlanRequest request = llama("nvfp4a16", 1);
  for (SourceTensor& t : request.tensors) {
    if (t.name.find("k_proj") != std::string::npos) t = bf16(t.name, {128, 250});
  }
  const Plan plan = make_plan(request);
  const PlanEntry& q = find(plan, "model.layers.0.self_attn.q_proj.weight");
  EXPECT_EQ(q.scheme, nullptr);
  EXPECT_THAT(q.reason, HasSubstr("fused with model.layers.0.self_attn.k_proj"));
  EXPECT_FALSE(q.selectable);
  request.rules = {Rule::parse("attn.q=nvfp4a16")};
  EXPECT_THAT(error_of(request), HasSubstr("engines fuse with model.layers.0.self_attn.k_proj"));
}

TEST(Planner, RulesMustNotSplitAFusedGroup) {
  PlanRequest request = llama("nvfp4a16", 2);
  add_rules(request, {"attn.q=keep"});
  const std::string error = error_of(request);
  EXPECT_THAT(error, HasSubstr("the rules split model.layers.0.self_attn.qkv"));
  EXPECT_THAT(error, HasSubstr("rule attn.q=keep"));
  request.rules = {Rule::parse("attn.{q,k,v}=keep")};
  EXPECT_EQ(find(make_plan(request), "model.layers.0.self_attn.v_proj.weight").scheme, nullptr);
}

TEST(Planner, RulesMustNotSplitTheExpertsOfALayer) {
  PlanRequest request = deepseek("nvfp4a16");
  add_rules(request, {"*.experts.3.*=keep"});
  EXPECT_THAT(error_of(request), HasSubstr("the rules split model.layers.1.mlp.experts"));
  request.rules = {Rule::parse("model.layers.1.mlp.experts.*=keep")};
  const Plan plan = make_plan(request);
  EXPECT_EQ(find(plan, "model.layers.1.mlp.experts.3.up_proj.weight").scheme, nullptr);
  EXPECT_NE(find(plan, "model.layers.2.mlp.experts.3.up_proj.weight").scheme, nullptr);
}

std::vector<std::string> texts(const std::vector<PlanWarning>& warnings) {
  std::vector<std::string> all;
  for (const PlanWarning& warning : warnings) all.push_back(warning.text);
  return all;
}

TEST(Planner, RulesByLayerSizeAndExpression) {
  PlanRequest request = llama("nvfp4a16", 4);
  add_rules(request, {"layer:-1=keep", R"(re:\.(q|k|v)_proj$=keep)"});
  const Plan plan = make_plan(request);
  EXPECT_EQ(find(plan, "model.layers.3.mlp.up_proj.weight").scheme, nullptr);
  EXPECT_EQ(find(plan, "model.layers.3.mlp.up_proj.weight").reason, "rule layer:-1=keep");
  EXPECT_EQ(find(plan, "model.layers.0.self_attn.q_proj.weight").scheme, nullptr);
  EXPECT_NE(find(plan, "model.layers.0.mlp.up_proj.weight").scheme, nullptr);
  EXPECT_THAT(texts(plan.warnings), Not(Contains(HasSubstr("decides nothing"))));
}

TEST(Planner, RulesThatDecideNothingAreReported) {
  PlanRequest request = llama("nvfp4a16", 2);
  add_rules(request, {"attn.q=keep", "attn.*=keep"});
  const Plan plan = make_plan(request);
  EXPECT_THAT(
      texts(plan.warnings), Contains(HasSubstr("rule attn.q=keep decides nothing")).Times(1)
  );
}

TEST(Planner, RulesOfPresetsMayMatchNothing) {
  PlanRequest request = llama("nvfp4a16", 2);
  add_rules(request, {"moe.*=keep", "attn.*=keep"});
  request.rules[0].preset = "mine";
  request.rules[1].preset = "mine";
  const Plan plan = make_plan(request);
  EXPECT_THAT(texts(plan.warnings), Not(Contains(HasSubstr("decides nothing"))));
  EXPECT_EQ(
      find(plan, "model.layers.0.self_attn.q_proj.weight").reason, "preset mine: attn.*=keep"
  );
}

TEST(Planner, RulesThatMatchNothingAreErrors) {
  PlanRequest request = llama("nvfp4a16", 1);
  add_rules(request, {"moe.gate=keep"});
  const std::string error = error_of(request);
  EXPECT_THAT(error, HasSubstr("rule moe.gate=keep matches no tensor"));
  EXPECT_THAT(error, HasSubstr("mlp.gate"));
}

TEST(Planner, ATiedHeadHasNoTensorToQuantize) {
  PlanRequest request = llama("nvfp4a16", 1);
  request.tied_embeddings = true;
  request.tensors.pop_back();
  add_rules(request, {"lm_head=nvfp4a16"});
  EXPECT_THAT(error_of(request), HasSubstr("tied to the embedding"));

  // Some tied checkpoints carry a copy of the head; engines ignore it.
  PlanRequest copy = llama("nvfp4a16", 1);
  copy.tied_embeddings = true;
  EXPECT_EQ(find(make_plan(copy), "lm_head.weight").reason, "tied to the embedding");
}

TEST(Planner, LmHeadIsQuantizedWhenNamed) {
  PlanRequest request = llama("nvfp4a16", 1);
  add_rules(request, {"lm_head=nvfp4a16"});
  EXPECT_NE(find(make_plan(request), "lm_head.weight").scheme, nullptr);
}

TEST(Planner, SeveralSchemesNeedADialectThatHoldsThem) {
  // FP8 per tensor and NVFP4: ModelOpt's MIXED_PRECISION. Blocks with 1x128 activations are not in
  // it, but in compressed-tensors.
  PlanRequest request = llama("nvfp4", 1);
  add_rules(request, {"attn.*=fp8-tensor"});
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.dialect, "modelopt");
  EXPECT_EQ(find(plan, "model.layers.0.self_attn.q_proj.weight").scheme->name, "fp8-tensor");
  EXPECT_EQ(find(plan, "model.layers.0.mlp.up_proj.weight").scheme->name, "nvfp4");
  request.engine = "vllm";
  EXPECT_EQ(make_plan(request).dialect, "modelopt");
  request.engine = "sglang";
  EXPECT_THAT(error_of(request), HasSubstr("MIXED_PRECISION is unknown"));

  request = llama("nvfp4a16", 1);
  add_rules(request, {"attn.*=fp8-block"});
  EXPECT_EQ(make_plan(request).dialect, "compressed-tensors");
  request.engine = "vllm";
  EXPECT_EQ(make_plan(request).dialect, "compressed-tensors");
  request.engine = "all";
  EXPECT_THAT(error_of(request), HasSubstr("would refuse this checkpoint"));
  request.engine = "";
  request.dialect = "modelopt";
  EXPECT_THAT(error_of(request), HasSubstr("scheme fp8-block cannot be written in the modelopt"));
}

TEST(Planner, NothingLeftIsAnError) {
  PlanRequest request = llama("nvfp4a16", 1);
  add_rules(request, {"*=keep"});
  EXPECT_THAT(error_of(request), HasSubstr("nothing is left to quantize"));
  PlanRequest empty;
  empty.scheme = find_scheme("nvfp4a16");
  EXPECT_THAT(error_of(empty), HasSubstr("no tensors"));
}

TEST(Planner, MatricesInOneTensorStayWithAWarning) {
  PlanRequest request = deepseek("nvfp4a16");
  request.tensors.push_back(bf16("model.layers.1.mlp.experts.gate_up_proj", {4, 256, 256}));
  const Plan plan = make_plan(request);
  EXPECT_THAT(
      find(plan, "model.layers.1.mlp.experts.gate_up_proj").reason,
      HasSubstr("4 matrices in one tensor")
  );
  ASSERT_FALSE(plan.warnings.empty());
  EXPECT_THAT(plan.warnings[0].text, HasSubstr("stay unquantized"));
}

TEST(Planner, IntegerWeightsStay) {
  PlanRequest request = llama("fp8-block", 1);
  request.tensors.push_back(
      {"model.layers.0.mlp.gate_proj.qzeros", DType::kI32, {4, 4}, std::nullopt, 64}
  );
  for (SourceTensor& t : request.tensors) {
    if (t.name.find("o_proj") != std::string::npos) t.dtype = DType::kI8;
  }
  EXPECT_EQ(
      find(make_plan(request), "model.layers.0.self_attn.o_proj.weight").reason, "I8 weights"
  );
}

TEST(Planner, AnEngineThatWouldRefuseStopsThePlan) {
  PlanRequest request = llama("nvfp4a16", 1);
  EXPECT_NO_THROW(make_plan(request));
  request.engine = "sglang";
  EXPECT_THAT(
      error_of(request),
      AllOf(
          HasSubstr("sglang would refuse this checkpoint"),
          HasSubstr("the nearest that sglang loads is nvfp4 (dialect modelopt)")
      )
  );
  request.engine = "all";
  EXPECT_THAT(error_of(request), HasSubstr("sglang would refuse this checkpoint"));
  request.engine = "vllm";
  EXPECT_NO_THROW(make_plan(request));
}

TEST(Planner, TheDialectOfTheOutputCanBeChosen) {
  PlanRequest request = llama("nvfp4a16", 1);
  EXPECT_EQ(make_plan(request).dialect, "modelopt");
  request.dialect = "compressed-tensors";
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.dialect, "compressed-tensors");
  // Scalars are one element there, too.
  EXPECT_EQ(
      find(plan, "model.layers.0.mlp.up_proj.weight").output_bytes,
      find(make_plan(llama("nvfp4a16", 1)), "model.layers.0.mlp.up_proj.weight").output_bytes
  );
  request.engine = "trtllm";
  EXPECT_THAT(
      error_of(request),
      AllOf(
          HasSubstr("tensorrt-llm would refuse this checkpoint"),
          HasSubstr("nvfp4a16 (dialect modelopt)")
      )
  );
  request.engine = "";
  request.dialect = "fp8";
  EXPECT_THAT(
      error_of(request),
      AllOf(
          HasSubstr("scheme nvfp4a16 cannot be written in the fp8 dialect"),
          HasSubstr("in modelopt by default")
      )
  );
  request.dialect = "gguf";
  EXPECT_THAT(error_of(request), HasSubstr("unknown dialect"));
}

TEST(Planner, ForAllRefusesWhatIsNotKnownToLoad) {
  PlanRequest request = llama("mxfp4", 1);
  EXPECT_NO_THROW(make_plan(request));
  request.engine = "all";
  EXPECT_THAT(
      error_of(request),
      AllOf(HasSubstr("not known to load"), HasSubstr("engines load is nvfp4 (dialect modelopt)"))
  );
  request = llama("fp8-dynamic", 1);
  request.engine = "all";
  EXPECT_EQ(make_plan(request).dialect, "compressed-tensors");
}

// ---- sources that are quantized already

PlanRequest stored_fp8(const char* scheme) {
  PlanRequest request = llama(scheme, 2);
  request.source_dialect = "fp8";
  for (SourceTensor& t : request.tensors) {
    if (t.name.find("_proj") == std::string::npos) continue;
    t.dtype = DType::kF8E4M3;
    t.stored = Format::kBlockFp8;
    t.bytes = t.shape.numel() + 4 * ((t.shape.dim(0) + 127) / 128) * ((t.shape.dim(1) + 127) / 128);
  }
  return request;
}

TEST(Planner, BlockFp8BecomesNvfp4AndTheRestBf16) {
  PlanRequest request = stored_fp8("nvfp4a16");
  add_rules(request, {"attn.*=keep"});
  const Plan plan = make_plan(request);
  EXPECT_EQ(plan.dialect, "modelopt");
  const PlanEntry& o = find(plan, "model.layers.1.self_attn.o_proj.weight");
  EXPECT_TRUE(o.to_bf16);
  EXPECT_EQ(o.output_bytes, 2 * 256 * 256);
  EXPECT_THAT(o.reason, HasSubstr("rounded to BF16"));
  EXPECT_NE(find(plan, "model.layers.1.mlp.up_proj.weight").scheme, nullptr);
  EXPECT_FALSE(find(plan, "model.norm.weight").to_bf16);
}

TEST(Planner, WhatIsInTheFormatAlreadyStaysAsItIs) {
  EXPECT_THAT(error_of(stored_fp8("fp8-block")), HasSubstr("nothing is left to quantize"));
  PlanRequest request = stored_fp8("fp8-block");
  add_rules(request, {"lm_head=fp8-block"});
  const Plan plan = make_plan(request);
  const PlanEntry& up = find(plan, "model.layers.1.mlp.up_proj.weight");
  EXPECT_EQ(up.scheme, nullptr);
  EXPECT_EQ(up.reason, "already fp8-block");
  EXPECT_FALSE(up.to_bf16);
  EXPECT_NE(find(plan, "lm_head.weight").scheme, nullptr);
}

TEST(Planner, OtherQuantizedSourcesAreRefused) {
  PlanRequest request = llama("fp8-block", 1);
  request.source_dialect = "modelopt";
  for (SourceTensor& t : request.tensors) {
    if (t.name.find("up_proj") != std::string::npos) t.stored = Format::kNvfp4;
  }
  EXPECT_THAT(error_of(request), HasSubstr("start from the original checkpoint"));
}

// ---- budgets

CalibrationStats measured(const PlanRequest& request, uint64_t seed) {
  CalibrationStats stats;
  Rng rng(seed);
  for (const SourceTensor& t : request.tensors) {
    if (t.name.find("_proj") == std::string::npos) continue;
    const std::string module = t.name.substr(0, t.name.size() - 7);
    stats.modules[module].sensitivity["nvfp4"] = {1e-3 * rng.uniform(), 1e-6};
  }
  return stats;
}

// Smallest sum of KLs over all subsets of choice groups within the budget.
double best_by_trying_all(const Plan& all, const CalibrationStats& stats, double bits) {
  struct Group {
    int64_t kept = 0;
    int64_t quantized = 0;
    double kl = 0;
  };
  std::map<std::string, Group> groups;
  int64_t weights = 0;
  for (const PlanEntry& e : all.entries) {
    if (e.scheme == nullptr) continue;
    Group& g = groups[e.fused_group.empty() ? e.module : e.fused_group];
    g.kept += e.source_bytes;
    g.quantized += e.output_bytes;
    g.kl += stats.modules.at(e.module).sensitivity.at("nvfp4").kl_mean;
    weights += e.shape.numel();
  }
  std::vector<Group> list;
  for (const auto& [name, g] : groups) list.push_back(g);
  double best = INFINITY;
  for (uint32_t mask = 0; mask < (1U << list.size()); ++mask) {
    int64_t bytes = 0;
    double kl = 0;
    for (size_t i = 0; i < list.size(); ++i) {
      const bool quantize = (mask >> i & 1) != 0;
      bytes += quantize ? list[i].quantized : list[i].kept;
      kl += quantize ? list[i].kl : 0;
    }
    if (8.0 * static_cast<double>(bytes) <= bits * static_cast<double>(weights))
      best = std::min(best, kl);
  }
  return best;
}

TEST(Planner, ABudgetIsMetWithTheSmallestSumOfKl) {
  PlanRequest request = llama("nvfp4a16", 3);
  const Plan all = make_plan(request);
  const CalibrationStats stats = measured(request, 3);
  request.stats = &stats;
  for (const double bits : {4.6, 5.0, 6.5, 9.0, 14.0}) {
    request.bits = bits;
    const Plan plan = make_plan(request);
    ASSERT_TRUE(plan.budget.has_value());
    EXPECT_LE(plan.budget->achieved_bits, bits);
    EXPECT_NEAR(plan.budget->achieved_bits, plan_size(plan).selectable_bits, 1e-9);
    EXPECT_TRUE(plan.budget->optimal);
    EXPECT_NEAR(plan.budget->predicted_kl, best_by_trying_all(all, stats, bits), 1e-12);
    for (const PlanEntry& e : plan.entries) {
      if (e.fused_group.empty()) continue;
      for (const PlanEntry& other : plan.entries) {
        if (other.fused_group != e.fused_group) continue;
        EXPECT_EQ(other.scheme, e.scheme) << e.module;
      }
    }
  }
}

TEST(Planner, BudgetsThatCannotBeMetOrChangeNothing) {
  PlanRequest request = llama("nvfp4a16", 2);
  const CalibrationStats stats = measured(request, 5);
  request.bits = 5.0;
  EXPECT_THAT(error_of(request), HasSubstr("needs the statistics of hone calibrate"));
  request.stats = &stats;
  request.bits = 4.0;
  EXPECT_THAT(error_of(request), HasSubstr("quantizing every selectable module takes 4.50"));
  request.bits = 16.0;
  EXPECT_THAT(error_of(request), HasSubstr("change nothing"));
}

TEST(Planner, ModulesWithoutAMeasurementAreNamed) {
  PlanRequest request = llama("nvfp4a16", 2);
  CalibrationStats stats = measured(request, 5);
  stats.modules.erase("model.layers.1.mlp.down_proj");
  request.stats = &stats;
  request.bits = 5.0;
  EXPECT_THAT(error_of(request), HasSubstr("no nvfp4 sensitivity of model.layers.1.mlp.down_proj"));
}

TEST(Planner, RulesStandAboveTheBudget) {
  PlanRequest request = llama("nvfp4a16", 2);
  const CalibrationStats stats = measured(request, 9);
  request.stats = &stats;
  request.bits = 8.0;
  add_rules(request, {"*.layers.0.mlp.*=keep", "attn.o=nvfp4a16"});
  const Plan plan = make_plan(request);
  const PlanEntry& kept = find(plan, "model.layers.0.mlp.up_proj.weight");
  EXPECT_EQ(kept.scheme, nullptr);
  EXPECT_FALSE(kept.selectable);
  EXPECT_NE(find(plan, "model.layers.0.self_attn.o_proj.weight").scheme, nullptr);
  EXPECT_NE(find(plan, "model.layers.1.self_attn.o_proj.weight").scheme, nullptr);
  EXPECT_LE(plan.budget->achieved_bits, 8.0);
}

TEST(Planner, ExpertsOfALayerAreChosenTogether) {
  PlanRequest request = deepseek("nvfp4a16");
  const CalibrationStats stats = measured(request, 21);
  request.stats = &stats;
  request.bits = 7.0;
  const Plan plan = make_plan(request);
  for (int layer = 1; layer < 3; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".mlp.experts.";
    const Scheme* scheme = find(plan, p + "0.up_proj.weight").scheme;
    for (int e = 0; e < 4; ++e) {
      const std::string expert = p + std::to_string(e);
      EXPECT_EQ(find(plan, expert + ".gate_proj.weight").scheme, scheme);
      EXPECT_EQ(find(plan, expert + ".down_proj.weight").scheme, scheme);
    }
  }
}

}  // namespace
}  // namespace hone
