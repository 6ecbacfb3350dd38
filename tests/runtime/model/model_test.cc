#include "runtime/model/model.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/base/threads.h"
#include "core/io/checkpoint.h"
#include "tests/fixture/tiny_llama.h"
#include "tests/reference/llama.h"
#include "tests/reference/tolerance.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// A checkpoint that is gone after the test.
struct Folder {
  explicit Folder(const std::string& name) : path(fixture::unique_path(name)) {}
  ~Folder() { std::filesystem::remove_all(path); }
  std::filesystem::path path;
};

std::vector<int32_t> random_tokens(size_t n, int64_t vocab, uint64_t seed) {
  Rng rng(seed);
  std::vector<int32_t> tokens(n);
  for (int32_t& token : tokens)
    token = static_cast<int32_t>(rng.below(static_cast<uint64_t>(vocab)));
  return tokens;
}

std::vector<float> row_of(const ForwardOutput& output, int64_t row) {
  const auto all = output.logits.as<float>();
  const auto vocab = static_cast<size_t>(output.logits.shape().dim(1));
  const auto first = all.begin() + row * static_cast<int64_t>(vocab);
  return {first, first + static_cast<ptrdiff_t>(vocab)};
}

// Logits of all tokens, computed in chunks of `chunk` tokens.
std::vector<std::vector<float>> all_logits(
    Model& model, const std::vector<int32_t>& tokens, size_t chunk
) {
  KvPool pool(model.kv_layout(), 64);
  KvSequence kv(pool);
  std::vector<std::vector<float>> rows;
  for (size_t at = 0; at < tokens.size(); at += chunk) {
    const size_t n = std::min(chunk, tokens.size() - at);
    EXPECT_TRUE(kv.reserve(static_cast<int64_t>(n)));
    const SequenceInput input{
        .tokens = std::span(tokens).subspan(at, n),
        .kv = &kv,
        .parents = {},
        .logits = LogitRows::kAll};
    ForwardOutput output;
    model.forward({&input, 1}, output);
    EXPECT_EQ(output.logits.shape().dim(0), static_cast<int64_t>(n));
    for (size_t i = 0; i < n; ++i) rows.push_back(row_of(output, static_cast<int64_t>(i)));
  }
  EXPECT_EQ(kv.length(), static_cast<int64_t>(tokens.size()));
  return rows;
}

double forward_tolerance(const ModelConfig& c, size_t keys, double norm) {
  return reference::forward_tolerance(
      {.layers = c.layers,
       .hidden = c.hidden,
       .attention = c.heads * c.head_dim,
       .intermediate = c.intermediate,
       .keys = static_cast<int64_t>(keys)},
      norm
  );
}

void expect_reference(
    const std::filesystem::path& folder,
    const std::vector<std::vector<float>>& rows,
    std::span<const int32_t> tokens,
    std::span<const int32_t> parents = {}
) {
  const reference::LlamaResult want = reference::Llama(folder).forward(tokens, parents);
  const auto checkpoint = Checkpoint::open(folder);
  const ModelConfig config = ModelConfig::parse(checkpoint->config(), "config.json");
  ASSERT_EQ(rows.size(), want.logits.size());
  for (size_t t = 0; t < rows.size(); ++t) {
    const double tolerance = forward_tolerance(config, tokens.size(), want.norm[t]);
    ASSERT_LT(tolerance, 1e-3);  // tight enough to see a wrong term
    for (size_t i = 0; i < rows[t].size(); ++i)
      ASSERT_NEAR(rows[t][i], want.logits[t][i], tolerance) << "token " << t << " logit " << i;
  }
}

TEST(Model, AgreesWithTheDefinition) {
  int number = 0;
  for (const fixture::TinyLlama& options :
       {fixture::TinyLlama{},
        fixture::TinyLlama{.tied = true, .biases = true, .llama3_rope = true},
        fixture::TinyLlama{.kv_heads = 3, .dtype = DType::kF32},
        fixture::TinyLlama{
            .vocab = 7, .hidden = 130, .intermediate = 33, .head_dim = 2, .dtype = DType::kF16}}) {
    Folder folder("definition" + std::to_string(number++));
    fixture::write_tiny_llama(folder.path, options);
    const auto model = Model::load(folder.path, {});
    const auto tokens = random_tokens(70, options.vocab, 5);
    expect_reference(folder.path, all_logits(*model, tokens, tokens.size()), tokens);
  }
}

// Made by tests/golden/model/make_tiny_llama.py with transformers.
TEST(Model, AgreesWithTransformers) {
  for (const std::string name : {"untied", "biased"}) {
    const std::filesystem::path golden =
        std::filesystem::path(HONE_SOURCE_DIR) / "tests/golden/model";
    const auto model = Model::load(golden / name, {});
    const reference::Llama definition(golden / name);
    const Json document = read_json_file(golden / (name + ".json"));
    for (const Json& item : document.at("items")) {
      const auto tokens = item.at("ids").get<std::vector<int32_t>>();
      const auto rows = all_logits(*model, tokens, 256);
      const reference::LlamaResult bound = definition.forward(tokens);
      for (size_t i = 0; i < item.at("rows").size(); ++i) {
        const auto row = item.at("rows")[i].get<size_t>();
        const auto want = item.at("logits")[i].get<std::vector<double>>();
        ASSERT_EQ(want.size(), rows[row].size());
        // Both sides round.
        const double tolerance =
            2.0 * forward_tolerance(model->config(), tokens.size(), bound.norm[row]) +
            reference::float_rope_tolerance(static_cast<int64_t>(row), bound.norm[row]);
        for (size_t k = 0; k < want.size(); ++k)
          ASSERT_NEAR(rows[row][k], want[k], tolerance) << name << " row " << row << " logit " << k;
      }
    }
  }
}

TEST(Model, ChunksAndThreadsChangeNothing) {
  Folder folder("chunks");
  fixture::write_tiny_llama(folder.path, {.biases = true});
  const auto model = Model::load(folder.path, {});
  const auto tokens = random_tokens(90, 61, 1);
  const auto whole = all_logits(*model, tokens, tokens.size());
  for (const int threads : {1, 2, 3}) {
    ThreadPool::set_threads(threads);
    for (const size_t chunk : {1, 7, 32, 90}) {
      ASSERT_EQ(all_logits(*model, tokens, chunk), whole) << threads << " threads, chunk " << chunk;
    }
  }
  ThreadPool::set_threads(2);
}

// Mixed prefill and decode rows: each sequence gets what it gets alone.
TEST(Model, BatchesChangeNothing) {
  Folder folder("batches");
  fixture::write_tiny_llama(folder.path, {});
  const auto model = Model::load(folder.path, {});
  KvPool pool(model->kv_layout(), 64);
  std::vector<std::vector<int32_t>> texts;
  std::vector<std::vector<std::vector<float>>> alone;
  std::vector<KvSequence> caches;
  for (size_t s = 0; s < 5; ++s) {
    texts.push_back(random_tokens(20 + 13 * s, 61, s));
    alone.push_back(all_logits(*model, texts[s], 1000));
    caches.emplace_back(pool);
  }
  // Sequence s advances by s * s + 1 tokens per call.
  for (;;) {
    std::vector<SequenceInput> batch;
    std::vector<size_t> owners;
    for (size_t s = 0; s < texts.size(); ++s) {
      const auto done = static_cast<size_t>(caches[s].length());
      const size_t n = std::min(s * s + 1, texts[s].size() - done);
      if (n == 0) continue;
      ASSERT_TRUE(caches[s].reserve(static_cast<int64_t>(n)));
      const LogitRows wanted = s == 1   ? LogitRows::kNone
                               : s == 2 ? LogitRows::kAll
                                        : LogitRows::kLast;
      batch.push_back(
          {.tokens = std::span(texts[s]).subspan(done, n),
           .kv = &caches[s],
           .parents = {},
           .logits = wanted}
      );
      owners.push_back(s);
    }
    if (batch.empty()) break;
    ForwardOutput output;
    model->forward(batch, output);
    ASSERT_EQ(output.first_row.size(), batch.size());
    for (size_t b = 0; b < batch.size(); ++b) {
      const auto end = static_cast<size_t>(caches[owners[b]].length());
      const size_t n = batch[b].tokens.size();
      const size_t count = batch[b].logits == LogitRows::kNone  ? 0
                           : batch[b].logits == LogitRows::kAll ? n
                                                                : 1;
      for (size_t i = 0; i < count; ++i) {
        ASSERT_EQ(
            row_of(output, output.first_row[b] + static_cast<int64_t>(i)),
            alone[owners[b]][end - count + i]
        );
      }
    }
  }
}

// A tree behind a cached prefix gives each node what its path gives as a chain, bit for bit.
TEST(Model, TreesAreManyChains) {
  Folder folder("trees");
  fixture::write_tiny_llama(folder.path, {});
  const auto model = Model::load(folder.path, {});
  const auto prompt = random_tokens(37, 61, 2);
  const std::vector<int32_t> nodes = random_tokens(9, 61, 3);
  const std::vector<int32_t> parents = {-1, 0, 0, 1, -1, 4, 2, 6, 3};
  KvPool pool(model->kv_layout(), 16);
  KvSequence kv(pool);
  ASSERT_TRUE(kv.reserve(37));
  ForwardOutput output;
  const SequenceInput prefill{
      .tokens = prompt, .kv = &kv, .parents = {}, .logits = LogitRows::kNone};
  model->forward({&prefill, 1}, output);
  EXPECT_EQ(output.logits.numel(), 0);
  ASSERT_TRUE(kv.reserve(9));
  const SequenceInput tree{
      .tokens = nodes, .kv = &kv, .parents = parents, .logits = LogitRows::kAll};
  model->forward({&tree, 1}, output);
  EXPECT_EQ(kv.length(), 46);
  std::vector<int32_t> all = prompt;
  all.insert(all.end(), nodes.begin(), nodes.end());
  std::vector<int32_t> all_parents;
  for (int32_t i = 0; i < 37; ++i) all_parents.push_back(i - 1);
  for (const int32_t parent : parents) all_parents.push_back(parent < 0 ? 36 : 37 + parent);
  for (size_t node = 0; node < nodes.size(); ++node) {
    std::vector<int32_t> path;
    for (auto at = static_cast<int32_t>(node); at >= 0; at = parents[static_cast<size_t>(at)])
      path.insert(path.begin(), nodes[static_cast<size_t>(at)]);
    std::vector<int32_t> chain = prompt;
    chain.insert(chain.end(), path.begin(), path.end());
    ASSERT_EQ(row_of(output, static_cast<int64_t>(node)), all_logits(*model, chain, 64).back());
  }
  // And what the definition says of the tree.
  std::vector<std::vector<float>> rows = all_logits(*model, prompt, 64);
  for (size_t node = 0; node < nodes.size(); ++node)
    rows.push_back(row_of(output, static_cast<int64_t>(node)));
  expect_reference(folder.path, rows, all, all_parents);

  // Accept the path 0, 2, 6 and go on: as if only they had ever been there.
  kv.compact(37, std::vector<int64_t>{0, 2, 6});
  ASSERT_TRUE(kv.reserve(1));
  const std::vector<int32_t> next = {11};
  const SequenceInput decode{.tokens = next, .kv = &kv, .parents = {}, .logits = LogitRows::kLast};
  model->forward({&decode, 1}, output);
  std::vector<int32_t> chain = prompt;
  for (const size_t node : {0, 2, 6}) chain.push_back(nodes[node]);
  chain.push_back(11);
  EXPECT_EQ(row_of(output, 0), all_logits(*model, chain, 64).back());
}

class Recorder : public TapSink {
 public:
  [[nodiscard]] bool wants(const TapPoint& point) const override {
    return kinds.contains(point.kind);
  }
  void on(const TapPoint& point, const TensorView& rows) override {
    order.push_back(
        point.kind == TapKind::kBlockOutput ? "block " + std::to_string(point.layer)
        : point.kind == TapKind::kFinalNorm ? "norm"
                                            : std::string(point.module)
    );
    shapes.push_back(rows.shape);
    const auto values = rows.as<float>();
    contents[order.back()].assign(values.begin(), values.end());
  }
  std::set<TapKind> kinds;
  std::vector<std::string> order;
  std::vector<Shape> shapes;
  std::map<std::string, std::vector<float>> contents;
};

TEST(Model, TapsComeInOrderAndChangeNothing) {
  Folder folder("taps");
  fixture::write_tiny_llama(folder.path, {});
  const auto model = Model::load(folder.path, {});
  const auto tokens = random_tokens(6, 61, 2);
  const auto plain = all_logits(*model, tokens, 64);
  KvPool pool(model->kv_layout(), 4);
  KvSequence kv(pool);
  ASSERT_TRUE(kv.reserve(6));
  Recorder sink;
  sink.kinds = {TapKind::kBlockOutput, TapKind::kLinearInput, TapKind::kFinalNorm};
  const SequenceInput input{.tokens = tokens, .kv = &kv, .parents = {}, .logits = LogitRows::kLast};
  ForwardOutput output;
  model->forward({&input, 1}, output, &sink);
  EXPECT_EQ(row_of(output, 0), plain.back());
  std::vector<std::string> want;
  for (const std::string& module : model->linear_modules()) {
    if (module == "lm_head") continue;
    want.push_back(module);
    if (module.ends_with("down_proj")) want.push_back("block " + module.substr(13, 1));
  }
  want.emplace_back("norm");
  want.emplace_back("lm_head");
  EXPECT_EQ(sink.order, want);
  EXPECT_EQ(sink.contents["norm"], sink.contents["lm_head"]);
  EXPECT_EQ(
      sink.contents["model.layers.0.self_attn.q_proj"],
      sink.contents["model.layers.0.self_attn.v_proj"]
  );
  const std::map<std::string, int64_t> widths = {
      {"block 0", 24},
      {"model.layers.1.self_attn.o_proj", 30},
      {"model.layers.1.mlp.down_proj", 36},
      {"norm", 24}};
  for (const auto& [name, width] : widths) {
    const auto at = std::ranges::find(sink.order, name) - sink.order.begin();
    EXPECT_EQ(sink.shapes[static_cast<size_t>(at)], Shape({6, width})) << name;
  }
  // The tapped input of lm_head times its weight is the logits.
  const Tensor head = model->dense_weight("lm_head");
  double sum = 0;
  double norm = 0;
  for (size_t k = 0; k < 24; ++k) {
    const double product =
        static_cast<double>(sink.contents["norm"][5 * 24 + k]) * head.as<float>()[3 * 24 + k];
    sum += product;
    norm += std::fabs(product);
  }
  EXPECT_NEAR(row_of(output, 0)[3], sum, reference::dot_tolerance(24, norm));
}

TEST(Model, OverridesReplaceOneModule) {
  Folder folder("overrides");
  fixture::write_tiny_llama(folder.path, {});
  const auto model = Model::load(folder.path, {});
  EXPECT_THAT(
      model->linear_modules(),
      ElementsAre(
          "model.layers.0.self_attn.q_proj",
          "model.layers.0.self_attn.k_proj",
          "model.layers.0.self_attn.v_proj",
          "model.layers.0.self_attn.o_proj",
          "model.layers.0.mlp.gate_proj",
          "model.layers.0.mlp.up_proj",
          "model.layers.0.mlp.down_proj",
          "model.layers.1.self_attn.q_proj",
          "model.layers.1.self_attn.k_proj",
          "model.layers.1.self_attn.v_proj",
          "model.layers.1.self_attn.o_proj",
          "model.layers.1.mlp.gate_proj",
          "model.layers.1.mlp.up_proj",
          "model.layers.1.mlp.down_proj",
          "lm_head"
      )
  );
  const auto tokens = random_tokens(5, 61, 2);
  const auto plain = all_logits(*model, tokens, 64);
  const auto with = [&](const WeightOverrides& overrides) {
    KvPool pool(model->kv_layout(), 4);
    KvSequence kv(pool);
    EXPECT_TRUE(kv.reserve(5));
    const SequenceInput input{
        .tokens = tokens, .kv = &kv, .parents = {}, .logits = LogitRows::kLast};
    ForwardOutput output;
    model->forward({&input, 1}, output, nullptr, &overrides);
    return row_of(output, 0);
  };
  for (const std::string module : {"model.layers.0.mlp.up_proj", "lm_head"}) {
    Tensor weight = model->dense_weight(module);
    EXPECT_EQ(with({{module, weight}}), plain.back()) << module;  // the same numbers as F32
    weight.as<float>()[0] += 1.0F;
    EXPECT_NE(with({{module, weight}}), plain.back()) << module;
  }
  EXPECT_THROW(with({{"model.layers.9.mlp.up_proj", Tensor(DType::kF32, {36, 24})}}), UsageError);
  EXPECT_THROW(with({{"lm_head", Tensor(DType::kF32, {61, 25})}}), UsageError);
  EXPECT_THROW(with({{"lm_head", Tensor(DType::kBF16, {61, 24})}}), UsageError);
  EXPECT_THROW((void)model->dense_weight("nothing"), UsageError);
}

// Exact profile: a quantized model is the dense model of its decoded weights.
TEST(Model, QuantizedWeightsAreDecodedExactly) {
  Folder source("quantized_from");
  fixture::write_tiny_llama(
      source.path, {.hidden = 160, .intermediate = 144, .head_dim = 16, .biases = true}
  );
  const auto tokens = random_tokens(40, 61, 4);
  for (const Format format : {Format::kBlockFp8, Format::kNvfp4}) {
    Folder folder("quantized_to");
    fixture::quantize_tiny_llama(
        source.path,
        folder.path,
        {.format = format,
         .activation =
             format == Format::kBlockFp8 ? ActivationRule::kFp8Group128 : ActivationRule::kNvfp4}
    );
    const auto model = Model::load(folder.path, {});
    const auto rows = all_logits(*model, tokens, 16);
    expect_reference(folder.path, rows, tokens);
    EXPECT_NE(rows, all_logits(*Model::load(source.path, {}), tokens, 16));
  }
}

// Which profile rounds activations and requantizes what (runtime/model/model.h).
TEST(Model, ProfilesDiffer) {
  Folder source("profiles_from");
  fixture::write_tiny_llama(source.path, {.hidden = 160, .intermediate = 144, .head_dim = 16});
  const auto tokens = random_tokens(12, 61, 4);
  const auto logits = [&](const std::filesystem::path& path, Profile profile) {
    const auto model = Model::load(path, {.profile = profile});
    EXPECT_EQ(model->profile(), profile);
    return all_logits(*model, tokens, 64);
  };
  const auto exact = Profile::kExact;
  const auto hopper = Profile::kHopper;
  const auto blackwell = Profile::kBlackwell;
  EXPECT_EQ(logits(source.path, hopper), logits(source.path, exact));
  EXPECT_EQ(logits(source.path, blackwell), logits(source.path, exact));
  {
    Folder folder("profiles_fp8");
    fixture::quantize_tiny_llama(source.path, folder.path, {});
    EXPECT_NE(logits(folder.path, hopper), logits(folder.path, exact));
    EXPECT_NE(logits(folder.path, blackwell), logits(folder.path, hopper));
    const auto stored = Model::load(folder.path, {});
    const auto requantized = Model::load(folder.path, {.profile = blackwell});
    const auto values = [](const Model& model) {
      const Tensor dense = model.dense_weight("model.layers.0.mlp.up_proj");
      const auto all = dense.as<float>();
      return std::vector<float>(all.begin(), all.end());
    };
    EXPECT_NE(values(*stored), values(*requantized));
  }
  {
    Folder folder("profiles_nvfp4");
    fixture::quantize_tiny_llama(
        source.path, folder.path, {.format = Format::kNvfp4, .activation = ActivationRule::kNvfp4}
    );
    EXPECT_EQ(logits(folder.path, hopper), logits(folder.path, exact));
    EXPECT_NE(logits(folder.path, blackwell), logits(folder.path, exact));
  }
  {
    Folder folder("profiles_nvfp4a16");
    fixture::quantize_tiny_llama(
        source.path, folder.path, {.format = Format::kNvfp4, .activation = ActivationRule::kNone}
    );
    EXPECT_EQ(logits(folder.path, blackwell), logits(folder.path, exact));
  }
  EXPECT_EQ(parse_profile("blackwell"), blackwell);
  EXPECT_EQ(profile_name(hopper), "hopper");
  EXPECT_THROW((void)parse_profile("ampere"), UsageError);
}

TEST(Model, TellsAboutItself) {
  Folder folder("about");
  fixture::write_tiny_llama(folder.path, {.tied = true});
  const auto model = Model::load(folder.path, {});
  EXPECT_EQ(model->kv_layout(), (KvLayout{.layers = 2, .kv_heads = 1, .head_dim = 10}));
  EXPECT_EQ(model->content_hash().size(), 64U);
  EXPECT_EQ(model->content_hash(), Model::load(folder.path, {})->content_hash());
  EXPECT_EQ(model->embedding_table().shape(), Shape({61, 24}));
  EXPECT_EQ(model->linear_modules().back(), "model.layers.1.mlp.down_proj");
}

TEST(Model, BadCallsSayWhatIsWrong) {
  Folder folder("bad_calls");
  fixture::write_tiny_llama(folder.path, {.max_positions = 40});
  const auto model = Model::load(folder.path, {});
  KvPool pool(model->kv_layout(), 8);
  KvSequence kv(pool);
  const auto message = [&](const std::vector<SequenceInput>& batch) -> std::string {
    ForwardOutput output;
    try {
      model->forward(batch, output);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  const std::vector<int32_t> tokens = {1, 2, 3};
  const std::vector<int32_t> outside = {1, 61};
  const std::vector<int32_t> negative = {-1};
  const std::vector<int32_t> late_parent = {-1, 1, 0};
  const std::vector<int32_t> many(41, 1);
  EXPECT_THAT(message({}), HasSubstr("empty"));
  EXPECT_THAT(message({{.tokens = {}, .kv = &kv}}), HasSubstr("no tokens"));
  EXPECT_THAT(message({{.tokens = tokens, .kv = nullptr}}), HasSubstr("no cache"));
  EXPECT_THAT(message({{.tokens = tokens, .kv = &kv}}), HasSubstr("has room for 0 tokens"));
  ASSERT_TRUE(kv.reserve(41));
  EXPECT_THAT(message({{.tokens = outside, .kv = &kv}}), HasSubstr("token id 61"));
  EXPECT_THAT(message({{.tokens = negative, .kv = &kv}}), HasSubstr("token id -1"));
  EXPECT_THAT(
      message({{.tokens = tokens, .kv = &kv, .parents = late_parent}}), HasSubstr("parent 1")
  );
  EXPECT_THAT(
      message({{.tokens = tokens, .kv = &kv, .parents = negative}}), HasSubstr("1 parents for 3")
  );
  EXPECT_THAT(message({{.tokens = many, .kv = &kv}}), HasSubstr("position 40"));
  EXPECT_THAT(
      message({{.tokens = tokens, .kv = &kv}, {.tokens = tokens, .kv = &kv}}), HasSubstr("shares")
  );
  KvPool other_pool({.layers = 2, .kv_heads = 1, .head_dim = 12}, 8);
  KvSequence other(other_pool);
  ASSERT_TRUE(other.reserve(3));
  EXPECT_THAT(message({{.tokens = tokens, .kv = &other}}), HasSubstr("another model"));
  EXPECT_EQ(kv.length(), 0);
  EXPECT_EQ(message({{.tokens = tokens, .kv = &kv}}), "");
  EXPECT_EQ(kv.length(), 3);
}

}  // namespace
}  // namespace hone
