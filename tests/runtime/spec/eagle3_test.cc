#include "runtime/spec/eagle3.h"

#include <filesystem>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "core/io/safetensors.h"
#include "core/json/json.h"
#include "runtime/engine/engine.h"
#include "runtime/model/draft/eagle3_runner.h"
#include "tests/fixture/tiny_llama.h"
#include "tests/fixture/toy_target.h"
#include "tests/runtime/model/draft/small_head.h"

namespace hone {
namespace {

using fixture::ToyTarget;
using testing::HasSubstr;
using testing_draft::random_tensor;

// A random head of the toy's sizes; its drafts are right now and then.
Eagle3Head toy_head() {
  Eagle3Head head;
  head.config = eagle3_config_for(ToyTarget().config(), {0, 2, 4}, 12);
  const auto specs = eagle3_tensors(head.config);
  const auto members = eagle3_members(head.weights);
  for (size_t i = 0; i < specs.size(); ++i)
    *members[i] = random_tensor(specs[i].shape, 40 + i, 0.3, specs[i].shape.rank() == 1 ? 1 : 0);
  for (int32_t i = 0; i < 12; ++i) head.draft_to_target.push_back(2 * i + 1);
  return head;
}

// The taps of the target's positions, as one forward call shows them.
class AllTaps : public TapSink {
 public:
  [[nodiscard]] bool wants(const TapPoint& point) const override {
    return point.kind == TapKind::kBlockOutput && point.layer % 2 == 0 && point.layer < 5;
  }
  void on(const TapPoint& point, const TensorView& rows) override {
    layers[point.layer] = Tensor::copy_of(rows);
  }
  std::map<int64_t, Tensor> layers;
};

// What a chain of `count` tokens after `text` must be: one pass over the whole text.
std::vector<int32_t> expected_chain(const std::vector<int32_t>& text, int64_t count) {
  ToyTarget target;
  KvPool target_pool(target.kv_layout(), 8);
  KvSequence target_kv(target_pool);
  const auto rows = static_cast<int64_t>(text.size()) - 1;
  EXPECT_TRUE(target_kv.reserve(rows));
  const SequenceInput input{
      .tokens = std::span(text).first(static_cast<size_t>(rows)),
      .kv = &target_kv,
      .parents = {},
      .logits = LogitRows::kNone};
  AllTaps taps;
  ForwardOutput output;
  target.forward({&input, 1}, output, &taps, nullptr);
  Tensor features(DType::kF32, {rows, 48});
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t tap = 0; tap < 3; ++tap)
      std::copy_n(
          taps.layers[2 * tap].as<float>().data() + row * 16,
          16,
          features.as<float>().data() + row * 48 + tap * 16
      );
  Eagle3Runner runner(toy_head(), target.embedding_table());
  KvPool pool(runner.kv_layout(), 8);
  KvSequence kv(pool);
  EXPECT_TRUE(kv.reserve(rows + count));
  const std::vector<Eagle3Rows> whole = {{&kv, rows, 1}};
  Tensor y = runner.step(whole, std::span(text).subspan(1), runner.fuse(features));
  std::vector<int32_t> chain = runner.best_tokens(y);
  while (std::cmp_less(chain.size(), count)) {
    const std::vector<Eagle3Rows> one = {{&kv, 1, 1}};
    y = runner.step(one, std::span(chain).last(1), y);
    chain.push_back(runner.best_tokens(y)[0]);
  }
  return chain;
}

// A target with its cache and a proposer, driven by hand.
struct Driver {
  ToyTarget target;
  std::unique_ptr<Proposer> proposer = make_eagle3_proposer(toy_head(), target.embedding_table());
  KvPool pool{target.kv_layout(), 64};

  void forward(KvSequence& kv, std::span<const int32_t> tokens) {
    ASSERT_TRUE(kv.reserve(static_cast<int64_t>(tokens.size())));
    const SequenceInput input{
        .tokens = tokens, .kv = &kv, .parents = {}, .logits = LogitRows::kNone};
    ForwardOutput output;
    target.forward({&input, 1}, output, proposer->taps(), nullptr);
  }
  std::vector<int32_t> draft(ProposerState& state, int count) {
    ProposerState* const states[] = {&state};
    const int limits[] = {count};
    std::vector<int32_t> tokens;
    const std::vector<Draft> drafts = proposer->propose(states, limits);
    for (size_t i = 0; i < drafts[0].size(); ++i) {
      EXPECT_EQ(drafts[0][i].parent, static_cast<int32_t>(i) - 1);
      EXPECT_LT(drafts[0][i].probability, 0);
      tokens.push_back(drafts[0][i].token);
    }
    return tokens;
  }
};

std::vector<int64_t> rows_from(int64_t first, size_t count) {
  std::vector<int64_t> rows(count);
  for (size_t i = 0; i < count; ++i) rows[i] = first + static_cast<int64_t>(i);
  return rows;
}

const std::vector<int32_t> kText = {3, 9, 1, 22, 7, 7, 0, 15, 4, 11};

TEST(Eagle3Proposer, PairsTheFeatureOfEachTokenWithTheNextOne) {
  Driver d;
  KvSequence kv(d.pool);
  const auto state = d.proposer->begin();
  d.forward(kv, std::span(kText).first(9));
  d.proposer->observe(*state, std::span(kText).first(9), rows_from(0, 9), kText[9]);
  EXPECT_EQ(d.draft(*state, 5), expected_chain(kText, 5));
}

TEST(Eagle3Proposer, ChunksOfThePromptGiveTheSameDraft) {
  // With the next chunk's first token known, and not known (-1).
  for (const bool known : {true, false}) {
    Driver d;
    KvSequence kv(d.pool);
    const auto state = d.proposer->begin();
    size_t done = 0;
    for (const size_t chunk : {size_t{4}, size_t{1}, size_t{3}, size_t{1}}) {
      const std::span<const int32_t> tokens = std::span(kText).subspan(done, chunk);
      d.forward(kv, tokens);
      done += chunk;
      const bool last = done == 9;
      d.proposer->observe(*state, tokens, rows_from(0, chunk), known || last ? kText[done] : -1);
      if (!last && !known) {
        EXPECT_TRUE(d.draft(*state, 3).empty());  // the last feature has no token yet
      }
    }
    EXPECT_EQ(d.draft(*state, 5), expected_chain(kText, 5));
  }
}

TEST(Eagle3Proposer, DraftedTokensLeaveNoTrace) {
  Driver d;
  KvSequence kv(d.pool);
  const auto state = d.proposer->begin();
  for (size_t known = 3; known < kText.size(); ++known) {
    const size_t fresh = known == 3 ? 3 : 1;
    const std::span<const int32_t> tokens = std::span(kText).subspan(known - fresh, fresh);
    d.forward(kv, tokens);
    d.proposer->observe(*state, tokens, rows_from(0, fresh), kText[known]);
    const std::vector<int32_t> text(kText.begin(), kText.begin() + static_cast<int64_t>(known) + 1);
    EXPECT_EQ(d.draft(*state, 4), expected_chain(text, 4)) << known;
    EXPECT_TRUE(d.draft(*state, 4).empty());  // nothing new
  }
}

TEST(Eagle3Proposer, TakesTheRowsItIsTold) {
  // The accepted path of a verification: rows 0, 1 and 3 of the call are the sequence's.
  Driver d;
  KvSequence kv(d.pool);
  KvSequence other(d.pool);
  const auto state = d.proposer->begin();
  d.forward(kv, std::span(kText).first(6));
  d.proposer->observe(*state, std::span(kText).first(6), rows_from(0, 6), kText[6]);
  EXPECT_EQ(d.draft(*state, 1).size(), 1U);
  // Two sequences in one call; ours comes second.
  const std::vector<int32_t> foreign = {5, 6};
  const std::vector<int32_t> ours = {kText[6], kText[7], kText[8]};
  ASSERT_TRUE(kv.reserve(3));
  ASSERT_TRUE(other.reserve(2));
  const SequenceInput inputs[] = {
      {.tokens = foreign, .kv = &other, .parents = {}, .logits = LogitRows::kNone},
      {.tokens = ours, .kv = &kv, .parents = {}, .logits = LogitRows::kNone}};
  ForwardOutput output;
  d.target.forward(inputs, output, d.proposer->taps(), nullptr);
  d.proposer->observe(*state, ours, rows_from(2, 3), kText[9]);
  EXPECT_EQ(d.draft(*state, 3), expected_chain(kText, 3));
  EXPECT_THROW(d.proposer->observe(*state, ours, rows_from(3, 3), 0), InternalError);
}

TEST(Eagle3Proposer, ABatchDraftsWhatEachSequenceDraftsAlone) {
  Driver d;
  std::vector<std::vector<int32_t>> texts = {
      kText, {1, 2}, {20, 19, 18, 17}, {5, 5, 5, 5, 5, 5, 5}};
  std::vector<std::unique_ptr<ProposerState>> states;
  std::vector<ProposerState*> pointers;
  const std::vector<int> limits = {4, 2, 0, 7};
  for (const auto& text : texts) {
    KvSequence kv(d.pool);
    const auto count = text.size() - 1;
    d.forward(kv, std::span(text).first(count));
    states.push_back(d.proposer->begin());
    d.proposer->observe(
        *states.back(), std::span(text).first(count), rows_from(0, count), text.back()
    );
    pointers.push_back(states.back().get());
  }
  const std::vector<Draft> drafts = d.proposer->propose(pointers, limits);
  for (size_t i = 0; i < texts.size(); ++i) {
    ASSERT_EQ(std::ssize(drafts[i]), limits[i]);
    if (limits[i] == 0) continue;
    const std::vector<int32_t> expected = expected_chain(texts[i], limits[i]);
    for (size_t k = 0; k < expected.size(); ++k) EXPECT_EQ(drafts[i][k].token, expected[k]);
  }
}

TEST(Eagle3Proposer, NeverPassesItsPositionsOrItsCache) {
  ToyTarget target;
  Eagle3Head head = toy_head();
  head.config.max_positions = 10;
  const auto run = [&](std::unique_ptr<Proposer> proposer, size_t count) {
    KvPool pool(target.kv_layout(), 8);
    KvSequence kv(pool);
    EXPECT_TRUE(kv.reserve(static_cast<int64_t>(count)));
    const std::vector<int32_t> tokens(count, 3);
    const SequenceInput input{
        .tokens = tokens, .kv = &kv, .parents = {}, .logits = LogitRows::kNone};
    ForwardOutput output;
    target.forward({&input, 1}, output, proposer->taps(), nullptr);
    const auto state = proposer->begin();
    proposer->observe(*state, tokens, rows_from(0, count), 5);
    ProposerState* const states[] = {state.get()};
    const int limits[] = {4};
    return proposer->propose(states, limits)[0].size();
  };
  EXPECT_EQ(run(make_eagle3_proposer(head, target.embedding_table()), 6), 4U);
  EXPECT_EQ(run(make_eagle3_proposer(head, target.embedding_table()), 8), 3U);
  EXPECT_EQ(run(make_eagle3_proposer(head, target.embedding_table()), 10), 1U);
  EXPECT_EQ(run(make_eagle3_proposer(head, target.embedding_table()), 11), 0U);
  // One page of 32 tokens.
  EXPECT_EQ(run(make_eagle3_proposer(toy_head(), target.embedding_table(), 1), 29), 4U);
  EXPECT_EQ(run(make_eagle3_proposer(toy_head(), target.embedding_table(), 1), 30), 0U);
}

// Greedy and sampled text with and without the head, for several draft lengths, batch sizes and
// chunk sizes: always the target's own.
TEST(Eagle3Proposer, NeverChangesTheText) {
  // Thousands of tiny passes: handing them to other threads would take most of the time.
  ThreadPool::set_threads(1);
  ToyTarget target;
  const auto requests = [] {
    std::vector<Request> list;
    for (int32_t i = 0; i < 9; ++i) {
      Request request;
      for (int32_t k = 0; k <= 5 * i; ++k) request.prompt.push_back((7 * i + 5 * k) % 24);
      request.max_tokens = 30 - i;
      if (i % 3 == 2) request.sampling = {.temperature = 3.0F, .seed = 11};
      if (i % 2 == 1) request.stop_ids = {2};
      list.push_back(request);
    }
    return list;
  };
  Engine plain(target, nullptr, {});
  const std::vector<Completion> expected = plain.generate(requests());
  int64_t accepted = 0;
  for (const int drafted : {1, 4, 9})
    for (const int batch : {1, 4})
      for (const int64_t chunk : {3, 256}) {
        EngineOptions options;
        options.draft_tokens = drafted;
        options.max_batch = batch;
        options.prefill_chunk = chunk;
        Engine engine(
            target, nullptr, options, make_eagle3_proposer(toy_head(), target.embedding_table())
        );
        const std::vector<Completion> found = engine.generate(requests());
        for (size_t i = 0; i < expected.size(); ++i) {
          EXPECT_EQ(found[i].ids, expected[i].ids) << drafted << " " << batch << " " << chunk;
          EXPECT_EQ(found[i].stop_id, expected[i].stop_id);
        }
        for (const int64_t n : engine.stats().accepted_at) accepted += n;
      }
  EXPECT_GT(accepted, 0);  // some of the random head's drafts were right
  ThreadPool::set_threads(2);
}

// Heads on disk, against a real model.
struct Served {
  std::filesystem::path target = fixture::unique_path("eagle3_target");
  std::filesystem::path head = fixture::unique_path("eagle3_head");
  std::unique_ptr<Model> model;
  Eagle3Head written;

  Served() {
    fixture::write_tiny_llama(target, {});
    model = Model::load(target, {});
    const ModelConfig& config = model->config();
    std::vector<int64_t> taps = {0};
    written.config = eagle3_config_for(config, taps, 20);
    const auto specs = eagle3_tensors(written.config);
    const auto members = eagle3_members(written.weights);
    for (size_t i = 0; i < specs.size(); ++i)
      *members[i] = random_tensor(specs[i].shape, 40 + i, 0.3, specs[i].shape.rank() == 1 ? 1 : 0);
    for (int32_t i = 0; i < 20; ++i) written.draft_to_target.push_back(2 * i);
    DraftContract contract;
    contract.taps = taps;
    contract.draft_vocab = 20;
    contract.vocabulary_map_hash = hash_vocabulary_map(written.draft_to_target);
    contract.target = identify_target(*model, model->embedding_table());
    written.contract = contract;
    std::filesystem::create_directories(head);
    write_eagle3(written, head);
  }
  Served(const Served&) = delete;
  Served& operator=(const Served&) = delete;
  ~Served() {
    std::filesystem::remove_all(target);
    std::filesystem::remove_all(head);
  }
};

TEST(LoadEagle3Proposer, TakesAHeadThatFits) {
  const Served s;
  Eagle3Loaded loaded = load_eagle3_proposer(s.head, *s.model);
  EXPECT_EQ(loaded.fit, TargetFit::kExact);
  EXPECT_EQ(loaded.proposer->name(), "eagle3");
  EXPECT_EQ(loaded.config.draft_vocab, 20);
  Request request;
  request.prompt = {3, 4, 5};
  request.max_tokens = 20;
  Engine plain(*s.model, nullptr, {});
  Engine spec(*s.model, nullptr, {}, std::move(loaded.proposer));
  EXPECT_EQ(spec.generate({request})[0].ids, plain.generate({request})[0].ids);
}

TEST(LoadEagle3Proposer, RefusesAHeadOfAnotherTarget) {
  Served s;
  s.written.contract->target.content_hash = "another";
  write_eagle3(s.written, s.head);
  EXPECT_EQ(load_eagle3_proposer(s.head, *s.model).fit, TargetFit::kSameBase);
  s.written.contract->target.base_hash = "fine-tuned";
  write_eagle3(s.written, s.head);
  try {
    load_eagle3_proposer(s.head, *s.model);
    FAIL();
  } catch (const DataError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--allow-other-target"));
    EXPECT_THAT(error.what(), HasSubstr(s.head.string()));
  }
  EXPECT_EQ(
      load_eagle3_proposer(s.head, *s.model, {.allow_other_target = true}).fit, TargetFit::kOther
  );
  s.written.contract->position_offset = 1;
  write_eagle3(s.written, s.head);
  EXPECT_THROW(load_eagle3_proposer(s.head, *s.model, {.allow_other_target = true}), DataError);
}

TEST(LoadEagle3Proposer, RefusesOtherSizesAndHeadsWithoutAContract) {
  Served s;
  Json config = read_json_file(s.head / "config.json");
  config.erase("hone_contract");
  write_json_file(s.head / "config.json", config);
  EXPECT_THROW(load_eagle3_proposer(s.head, *s.model), DataError);
  EXPECT_EQ(
      load_eagle3_proposer(s.head, *s.model, {.allow_other_target = true}).fit, TargetFit::kOther
  );
  const ToyTarget other;
  EXPECT_THROW(load_eagle3_proposer(s.head, other, {.allow_other_target = true}), DataError);
}

}  // namespace
}  // namespace hone
