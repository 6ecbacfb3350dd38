#include "runtime/engine/engine.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <limits>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/rng.h"
#include "core/base/threads.h"
#include "tests/fixture/faulty_model.h"
#include "tests/fixture/scripted_proposer.h"
#include "tests/fixture/tiny_llama.h"

namespace hone {
namespace {

using fixture::FaultyModel;
using fixture::Script;
using fixture::ScriptedProposer;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr int64_t kVocab = 61;

Model& model() {
  static const std::unique_ptr<Model> loaded = [] {
    const auto folder = fixture::unique_path("engine_model");
    fixture::write_tiny_llama(folder, {});
    auto result = Model::load(folder, {});
    std::filesystem::remove_all(folder);  // the mapping stays
    return result;
  }();
  return *loaded;
}

std::vector<int32_t> prompt_of(size_t n, uint64_t seed) {
  Rng rng(seed, 77);
  std::vector<int32_t> tokens(n);
  for (int32_t& token : tokens) token = static_cast<int32_t>(rng.below(kVocab));
  return tokens;
}

// Twelve requests of different lengths, half of them sampled.
std::vector<Request> twelve() {
  std::vector<Request> requests;
  for (size_t i = 0; i < 12; ++i) {
    Request request;
    request.prompt = prompt_of(1 + 9 * i, i);
    request.max_tokens = static_cast<int64_t>(20 + 3 * i);
    if (i % 2 == 1) request.sampling = {.temperature = 1.2F, .top_p = 0.95F, .seed = 100 + i};
    request.choice = static_cast<uint32_t>(i % 3);
    requests.push_back(std::move(request));
  }
  return requests;
}

std::vector<std::vector<int32_t>> ids_of(const std::vector<Completion>& completions) {
  std::vector<std::vector<int32_t>> ids;
  for (const Completion& completion : completions) {
    EXPECT_EQ(completion.error, "");
    ids.push_back(completion.ids);
  }
  return ids;
}

// Decoding as its definition reads: the whole text through the model for every token.
std::vector<int32_t> by_definition(const Request& request) {
  std::vector<int32_t> text = request.prompt;
  while (static_cast<int64_t>(text.size() - request.prompt.size()) < request.max_tokens) {
    KvPool pool(model().kv_layout(), 16);
    KvSequence kv(pool);
    EXPECT_TRUE(kv.reserve(static_cast<int64_t>(text.size())));
    const SequenceInput input{.tokens = text, .kv = &kv, .parents = {}, .logits = LogitRows::kLast};
    ForwardOutput output;
    model().forward({&input, 1}, output);
    text.push_back(sample(output.logits.as<float>(), request.sampling, request.choice, text.size())
    );
  }
  return {text.begin() + static_cast<ptrdiff_t>(request.prompt.size()), text.end()};
}

const std::vector<std::vector<int32_t>>& expected() {
  static const auto ids = [] {
    std::vector<std::vector<int32_t>> all;
    for (const Request& request : twelve()) all.push_back(by_definition(request));
    return all;
  }();
  return ids;
}

// Prompt and continuation of the twelve, for proposers that know.
std::vector<std::vector<int32_t>> whole_texts() {
  std::vector<std::vector<int32_t>> texts;
  for (const Request& request : twelve()) texts.push_back(request.prompt);
  for (size_t i = 0; i < texts.size(); ++i)
    texts[i].insert(texts[i].end(), expected()[i].begin(), expected()[i].end());
  return texts;
}

TEST(Engine, GivesWhatTheDefinitionGives) {
  Engine engine(model(), nullptr, {});
  const auto completions = engine.generate(twelve());
  EXPECT_EQ(ids_of(completions), expected());
  for (size_t i = 0; i < completions.size(); ++i) {
    EXPECT_EQ(completions[i].finish, FinishReason::kLength);
    EXPECT_EQ(completions[i].stats.prompt_tokens, static_cast<int64_t>(1 + 9 * i));
    EXPECT_EQ(completions[i].stats.output_tokens, static_cast<int64_t>(20 + 3 * i));
    EXPECT_EQ(completions[i].stats.verifications, completions[i].stats.output_tokens);
    EXPECT_EQ(completions[i].stats.acceptance_length(), 1.0);
    EXPECT_GT(completions[i].stats.first_token_seconds, 0.0);
    EXPECT_GE(completions[i].stats.total_seconds, completions[i].stats.first_token_seconds);
  }
  EXPECT_EQ(engine.free_pages(), 1 << 16);
  EXPECT_EQ(engine.stats().finished, 12);
  EXPECT_EQ(engine.stats().prompt_tokens, 12 + 9 * 66);
  EXPECT_EQ(engine.stats().generated_tokens, 12 * 20 + 3 * 66);
  EXPECT_FALSE(engine.step());
}

TEST(Engine, BatchChunkAndThreadsChangeNothing) {
  for (const int threads : {1, 2, 3}) {
    ThreadPool::set_threads(threads);
    for (const int64_t chunk : {1, 7, 256}) {
      for (const int batch : {1, 12}) {
        Engine engine(model(), nullptr, {.max_batch = batch, .prefill_chunk = chunk});
        ASSERT_EQ(ids_of(engine.generate(twelve())), expected())
            << threads << " threads, chunk " << chunk << ", batch " << batch;
      }
    }
  }
  ThreadPool::set_threads(2);
  Engine tight(model(), nullptr, {.prefill_chunk = 16, .step_tokens = 20});
  EXPECT_EQ(ids_of(tight.generate(twelve())), expected());
}

TEST(Engine, SpeculationChangesNothing) {
  for (const Script script :
       {Script::kRight, Script::kWrong, Script::kRandom, Script::kTree, Script::kMixed}) {
    for (const int drafted : {1, 4, 9}) {
      for (const int batch : {1, 12}) {
        Engine engine(
            model(),
            nullptr,
            {.max_batch = batch, .prefill_chunk = 7, .draft_tokens = drafted},
            std::make_unique<ScriptedProposer>(script, whole_texts(), kVocab)
        );
        ASSERT_EQ(ids_of(engine.generate(twelve())), expected())
            << static_cast<int>(script) << " " << drafted << " " << batch;
      }
    }
  }
}

TEST(Engine, DraftCountersTellWhatHappened) {
  const auto run = [](Script script) {
    Engine engine(
        model(),
        nullptr,
        {.draft_tokens = 4},
        std::make_unique<ScriptedProposer>(script, whole_texts(), kVocab)
    );
    std::vector<Request> requests = twelve();
    requests.resize(1);
    requests[0].max_tokens = 20;
    return engine.generate(requests).front().stats;
  };
  // The first token comes with the prompt; then 5 tokens a verification: 1 + 3 * 5 = 16, the last
  // 4 from a draft of 3.
  const RequestStats right = run(Script::kRight);
  EXPECT_THAT(right.drafted_at, ElementsAre(4, 4, 4, 3));
  EXPECT_THAT(right.accepted_at, ElementsAre(4, 4, 4, 3));
  EXPECT_EQ(right.verifications, 5);
  EXPECT_EQ(right.output_tokens, 20);
  EXPECT_DOUBLE_EQ(right.acceptance_length(), 19.0 / 4.0);
  const RequestStats wrong = run(Script::kWrong);
  EXPECT_EQ(wrong.verifications, 20);
  EXPECT_EQ(wrong.drafted_at.front(), 18);  // the last token is decoded plainly
  EXPECT_THAT(wrong.accepted_at, ElementsAre(0, 0, 0, 0));
  EXPECT_EQ(wrong.acceptance_length(), 1.0);
  // Trees of two levels.
  const RequestStats tree = run(Script::kTree);
  EXPECT_EQ(tree.drafted_at.size(), 2U);
  EXPECT_EQ(tree.accepted_at, tree.drafted_at);
}

// What proposers are shown: every token once, in order, with the features that a plain pass over
// the same text has at its position.
TEST(Engine, ProposersObserveTheAcceptedText) {
  std::vector<fixture::Observed> log;
  {
    Engine engine(
        model(),
        nullptr,
        {.max_batch = 5, .prefill_chunk = 7, .draft_tokens = 4},
        std::make_unique<ScriptedProposer>(Script::kMixed, whole_texts(), kVocab, &log)
    );
    (void)engine.generate(twelve());
  }
  ASSERT_EQ(log.size(), 12U);
  const auto texts = whole_texts();
  for (const fixture::Observed& observed : log) {
    const auto text = std::ranges::find_if(texts, [&](const std::vector<int32_t>& t) {
      return observed.tokens.size() <= t.size() &&
             std::equal(observed.tokens.begin(), observed.tokens.end(), t.begin());
    });
    ASSERT_NE(text, texts.end());
    fixture::Observed plain;
    ScriptedProposer listener(Script::kRight, {}, kVocab);
    KvPool pool(model().kv_layout(), 16);
    KvSequence kv(pool);
    ASSERT_TRUE(kv.reserve(static_cast<int64_t>(observed.tokens.size())));
    const SequenceInput input{
        .tokens = observed.tokens, .kv = &kv, .parents = {}, .logits = LogitRows::kNone};
    ForwardOutput output;
    std::vector<fixture::Observed> plain_log;
    {
      ScriptedProposer recorder(Script::kRight, {}, kVocab, &plain_log);
      const auto state = recorder.begin();
      model().forward({&input, 1}, output, recorder.taps());
      std::vector<int64_t> rows(observed.tokens.size());
      for (size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<int64_t>(i);
      recorder.observe(*state, observed.tokens, rows, 0);
    }
    ASSERT_EQ(plain_log.size(), 1U);
    EXPECT_EQ(observed.features, plain_log[0].features);
  }
}

TEST(Engine, NothingGoesBeyondTheLastPosition) {
  const auto folder = fixture::unique_path("engine_short");
  fixture::write_tiny_llama(folder, {.max_positions = 40});
  const auto small = Model::load(folder, {});
  Request request;
  request.prompt = prompt_of(30, 1);
  request.max_tokens = 100;
  Engine plain(*small, nullptr, {});
  const Completion want = plain.generate({request}).front();
  EXPECT_EQ(want.ids.size(), 10U);
  EXPECT_EQ(want.finish, FinishReason::kLength);
  std::vector<int32_t> text = request.prompt;
  text.insert(text.end(), want.ids.begin(), want.ids.end());
  Engine drafted(
      *small,
      nullptr,
      {.draft_tokens = 8},
      std::make_unique<ScriptedProposer>(
          Script::kRight, std::vector<std::vector<int32_t>>{text}, kVocab
      )
  );
  EXPECT_EQ(drafted.generate({request}).front().ids, want.ids);
  request.prompt = prompt_of(40, 1);
  EXPECT_THROW((void)plain.submit(request), UsageError);
  std::filesystem::remove_all(folder);
}

TEST(Engine, EndTokensEndInsideADraft) {
  const std::vector<int32_t>& full = expected()[4];
  // An end token that first comes as the fourth token or later.
  size_t at = 4;
  while (std::find(full.begin(), full.begin() + static_cast<ptrdiff_t>(at), full[at]) !=
         full.begin() + static_cast<ptrdiff_t>(at))
    ++at;
  Request request = twelve()[4];
  request.stop_ids = {full[at]};
  for (const bool speculate : {false, true}) {
    Engine engine(
        model(),
        nullptr,
        {.draft_tokens = 8},
        speculate ? std::make_unique<ScriptedProposer>(Script::kRight, whole_texts(), kVocab)
                  : nullptr
    );
    const Completion completion = engine.generate({request}).front();
    EXPECT_EQ(completion.finish, FinishReason::kStop);
    EXPECT_EQ(completion.stop_id, full[at]);
    EXPECT_EQ(
        completion.ids,
        std::vector<int32_t>(full.begin(), full.begin() + static_cast<ptrdiff_t>(at))
    );
    Request ignoring = request;
    ignoring.ignore_stop_ids = true;
    EXPECT_EQ(engine.generate({ignoring}).front().ids, full);
  }
}

// A pool that cannot hold all: the later ones give way and are computed again, with the same text.
TEST(Engine, PreemptionChangesNothing) {
  for (const bool speculate : {false, true}) {
    Engine engine(
        model(),
        nullptr,
        {.prefill_chunk = 16, .max_pages = 8},
        speculate ? std::make_unique<ScriptedProposer>(Script::kMixed, whole_texts(), kVocab)
                  : nullptr
    );
    const auto completions = engine.generate(twelve());
    EXPECT_EQ(ids_of(completions), expected());
    EXPECT_GT(engine.stats().preemptions, 0);
    int64_t counted = 0;
    for (const Completion& completion : completions) counted += completion.stats.preemptions;
    EXPECT_EQ(counted, engine.stats().preemptions);
    EXPECT_EQ(engine.free_pages(), 8);
  }
}

TEST(Engine, OneSequenceTooLargeForThePoolFails) {
  Engine engine(model(), nullptr, {.max_pages = 2});
  Request request;
  request.prompt = prompt_of(40, 3);
  request.max_tokens = 100;
  Request small;
  small.prompt = prompt_of(3, 4);
  small.max_tokens = 5;
  const auto completions = engine.generate({request, small});
  EXPECT_EQ(completions[0].finish, FinishReason::kError);
  EXPECT_EQ(completions[0].error_code, "kv_exhausted");
  EXPECT_THAT(completions[0].error, HasSubstr("max_pages"));
  EXPECT_EQ(completions[0].ids.size(), 25U);  // slots for 64 tokens, the 65th needs none yet
  EXPECT_EQ(completions[1].finish, FinishReason::kLength);
  EXPECT_EQ(engine.free_pages(), 2);
  EXPECT_EQ(engine.stats().failed, 1);
  request.prompt = prompt_of(64, 3);
  EXPECT_THROW((void)engine.submit(request), UsageError);
}

TEST(Engine, CancelsRunningAndWaiting) {
  Engine engine(model(), nullptr, {.max_batch = 1});
  std::map<RequestId, Completion> done;
  const auto listener = [&](const Engine::Update& update) {
    if (update.done != nullptr) done[update.id] = *update.done;
  };
  Request request;
  request.prompt = prompt_of(5, 1);
  request.max_tokens = 200;
  const RequestId first = engine.submit(request, listener);
  const RequestId second = engine.submit(request, listener);
  request.max_tokens = 3;
  const RequestId third = engine.submit(request, listener);
  for (int i = 0; i < 4; ++i) EXPECT_TRUE(engine.step());
  EXPECT_EQ(engine.running(), 1);
  EXPECT_EQ(engine.waiting(), 2);
  engine.cancel(first);
  engine.cancel(second);
  engine.cancel(999);
  EXPECT_TRUE(engine.step());
  ASSERT_TRUE(done.contains(first));
  EXPECT_EQ(done[first].finish, FinishReason::kCancelled);
  EXPECT_EQ(done[first].ids.size(), 4U);
  EXPECT_EQ(done[second].finish, FinishReason::kCancelled);
  EXPECT_TRUE(done[second].ids.empty());
  while (engine.step()) {
  }
  EXPECT_EQ(done[third].finish, FinishReason::kLength);
  EXPECT_EQ(engine.free_pages(), 1 << 16);
}

TEST(Engine, BrokenLogitsEndOneRequestOnly) {
  // The sequence whose last token is `trigger` gets a NaN.
  const int32_t trigger = expected()[3][5];
  FaultyModel faulty(model(), [trigger](int32_t token, std::span<float> row) {
    if (token == trigger) row[7] = std::numeric_limits<float>::quiet_NaN();
  });
  Engine engine(faulty, nullptr, {});
  const auto completions = engine.generate(twelve());
  int failed = 0;
  for (size_t i = 0; i < completions.size(); ++i) {
    const Completion& completion = completions[i];
    const auto first = std::ranges::find(expected()[i], trigger);
    const bool in_prompt = twelve()[i].prompt.back() == trigger;
    if (first == expected()[i].end() && !in_prompt) {
      EXPECT_EQ(completion.ids, expected()[i]);
      continue;
    }
    ++failed;
    EXPECT_EQ(completion.finish, FinishReason::kError);
    EXPECT_EQ(completion.error_code, "numerical_error");
    EXPECT_THAT(completion.error, HasSubstr("logit of token 7 is nan at position"));
  }
  EXPECT_GE(failed, 1);
  EXPECT_LT(failed, 12);
  EXPECT_EQ(engine.stats().failed, failed);
}

TEST(Engine, CollapsedTextEnds) {
  FaultyModel stuck(model(), [](int32_t, std::span<float> row) { row[9] = 1000.0F; });
  Engine engine(stuck, nullptr, {});
  Request request;
  request.prompt = prompt_of(3, 1);
  request.max_tokens = 253;
  EXPECT_EQ(engine.generate({request}).front().finish, FinishReason::kLength);
  const auto folder = fixture::unique_path("engine_long");
  fixture::write_tiny_llama(folder, {.max_positions = 2000});
  const auto longer = Model::load(folder, {});
  FaultyModel stuck_longer(*longer, [](int32_t, std::span<float> row) { row[9] = 1000.0F; });
  Engine collapse(stuck_longer, nullptr, {});
  request.max_tokens = 1000;
  const Completion completion = collapse.generate({request}).front();
  EXPECT_EQ(completion.finish, FinishReason::kError);
  EXPECT_EQ(completion.error_code, "repetition");
  EXPECT_EQ(completion.ids.size(), 256U);
  Engine off(stuck_longer, nullptr, {.max_repeats = 0});
  EXPECT_EQ(off.generate({request}).front().ids.size(), 1000U);
  std::filesystem::remove_all(folder);
}

TEST(Engine, BadRequestsSayWhatIsWrong) {
  Engine engine(model(), nullptr, {.max_pages = 2});
  const auto message = [&](const std::function<void(Request&)>& change) -> std::string {
    Request request;
    request.prompt = prompt_of(5, 1);
    change(request);
    try {
      (void)engine.submit(request);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_THAT(message([](Request& r) { r.prompt.clear(); }), HasSubstr("prompt is empty"));
  EXPECT_THAT(message([](Request& r) { r.prompt[2] = 61; }), HasSubstr("token id 61"));
  EXPECT_THAT(message([](Request& r) { r.prompt = prompt_of(256, 1); }), HasSubstr("256 tokens"));
  EXPECT_THAT(
      message([](Request& r) { r.prompt = prompt_of(64, 1); }), HasSubstr("KV cache holds 64")
  );
  EXPECT_THAT(message([](Request& r) { r.max_tokens = 0; }), HasSubstr("max_tokens is 0"));
  EXPECT_THAT(message([](Request& r) { r.stop = {"x"}; }), HasSubstr("tokenizer"));
  EXPECT_THAT(message([](Request& r) { r.sampling.top_p = 2; }), HasSubstr("top_p is 2"));
  EXPECT_THAT(message([](Request& r) { r.top_logprobs = 62; }), HasSubstr("top_logprobs is 62"));
  EXPECT_EQ(message([](Request& r) { r.prompt = prompt_of(63, 1); }), "");
  EXPECT_THROW(Engine(model(), nullptr, {.max_batch = 0}), UsageError);
  EXPECT_THROW(Engine(model(), nullptr, {.prefill_chunk = 0}), UsageError);
}

// A proposer that breaks its contract is a bug of Hone and is named.
TEST(Engine, TooLargeDraftsAreBugs) {
  class Greedy : public ScriptedProposer {
   public:
    using ScriptedProposer::ScriptedProposer;
    std::vector<Draft> propose(std::span<ProposerState* const> states, std::span<const int>)
        override {
      return std::vector<Draft>(states.size(), Draft(10, DraftNode{}));
    }
  };
  Engine engine(
      model(),
      nullptr,
      {},
      std::make_unique<Greedy>(Script::kRight, std::vector<std::vector<int32_t>>{}, kVocab)
  );
  EXPECT_THROW((void)engine.generate(twelve()), InternalError);
  EXPECT_EQ(engine.running(), 0);
  EXPECT_EQ(engine.waiting(), 0);
  EXPECT_EQ(engine.free_pages(), 1 << 16);
}

TEST(Engine, ListenersSeeEveryTokenOnceAndMaySubmit) {
  Engine engine(
      model(),
      nullptr,
      {},
      std::make_unique<ScriptedProposer>(Script::kMixed, whole_texts(), kVocab)
  );
  std::vector<int32_t> streamed;
  int ends = 0;
  RequestId second = 0;
  const auto listener = [&](const Engine::Update& update) {
    EXPECT_TRUE(!update.tokens.empty() || update.done != nullptr);
    if (update.id == second) {
      ends += update.done != nullptr ? 1 : 0;
      return;
    }
    streamed.insert(streamed.end(), update.tokens.begin(), update.tokens.end());
    if (update.done == nullptr) return;
    ++ends;
    EXPECT_EQ(update.done->ids, streamed);
  };
  Request request = twelve()[6];
  engine.submit(request, [&](const Engine::Update& update) {
    listener(update);
    if (update.done != nullptr) second = engine.submit(twelve()[0], listener);
  });
  while (engine.step()) {
  }
  EXPECT_EQ(streamed, expected()[6]);
  EXPECT_EQ(ends, 2);
}

TEST(Engine, ProgressCountsFinishedRequests) {
  Engine engine(model(), nullptr, {.max_batch = 3});
  std::vector<int64_t> seen;
  (void)engine.generate(twelve(), [&](int64_t done) { seen.push_back(done); });
  EXPECT_TRUE(std::ranges::is_sorted(seen));
  EXPECT_EQ(seen.back(), 12);
  EXPECT_TRUE(engine.generate({}).empty());
}

// The joint law of two sampled tokens against the product of the model's own softmax, with random
// drafts in between.
TEST(Engine, SampledLawIsThatOfTheModel) {
  const auto folder = fixture::unique_path("engine_law");
  fixture::write_tiny_llama(
      folder, {.vocab = 5, .hidden = 8, .intermediate = 8, .layers = 1, .heads = 1, .head_dim = 4}
  );
  const auto toy = Model::load(folder, {});
  std::filesystem::remove_all(folder);
  constexpr int kRuns = 20000;
  const std::vector<int32_t> prompt = {1, 3};
  std::vector<Request> requests(kRuns);
  for (size_t i = 0; i < requests.size(); ++i) {
    requests[i].prompt = prompt;
    requests[i].max_tokens = 3;
    requests[i].sampling = {.temperature = 0.7F, .seed = i};
  }
  Engine engine(
      *toy,
      nullptr,
      {.max_batch = 64, .draft_tokens = 2},
      std::make_unique<ScriptedProposer>(Script::kRandom, std::vector<std::vector<int32_t>>{}, 5)
  );
  std::map<std::pair<int32_t, int32_t>, int> counts;
  for (const Completion& completion : engine.generate(requests))
    ++counts[{completion.ids[1], completion.ids[2]}];
  EXPECT_GT(engine.stats().accepted_at[0], 0);

  const auto law = [&](const std::vector<int32_t>& text) {
    KvPool pool(toy->kv_layout(), 1);
    KvSequence kv(pool);
    EXPECT_TRUE(kv.reserve(static_cast<int64_t>(text.size())));
    const SequenceInput input{.tokens = text, .kv = &kv, .parents = {}, .logits = LogitRows::kLast};
    ForwardOutput output;
    toy->forward({&input, 1}, output);
    std::vector<double> p;
    double total = 0;
    for (const float logit : output.logits.as<float>())
      total += p.emplace_back(std::exp(logit / 0.7F));
    for (double& value : p) value /= total;
    return p;
  };
  double chi = 0;
  for (int32_t a = 0; a < 5; ++a) {
    for (int32_t b = 0; b < 5; ++b) {
      // Over all first tokens.
      double p = 0;
      for (int32_t first = 0; first < 5; ++first) {
        const double start = law(prompt)[static_cast<size_t>(first)];
        const double second = law({1, 3, first})[static_cast<size_t>(a)];
        p += start * second * law({1, 3, first, a})[static_cast<size_t>(b)];
      }
      const double want = p * kRuns;
      chi += (counts[{a, b}] - want) * (counts[{a, b}] - want) / want;
    }
  }
  // Mean and deviation of chi-square with 24 degrees of freedom; 5 sigma.
  EXPECT_LT(chi, 24.0 + 5.0 * std::sqrt(48.0));
}

TEST(FinishReason, Names) {
  EXPECT_EQ(finish_reason_name(FinishReason::kStop), "stop");
  EXPECT_EQ(finish_reason_name(FinishReason::kLength), "length");
  EXPECT_EQ(finish_reason_name(FinishReason::kCancelled), "cancelled");
  EXPECT_EQ(finish_reason_name(FinishReason::kError), "error");
  EXPECT_EQ(finish_reason_name(FinishReason::kNone), "none");
}

}  // namespace
}  // namespace hone
