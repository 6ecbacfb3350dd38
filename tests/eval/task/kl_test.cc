#include "eval/task/kl.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/eval/task/demo.h"

namespace hone {
namespace {

KlOptions three_texts() {
  KlOptions options;
  options.corpus.data = write_lines(
      {R"({"messages": [{"role": "user", "content": "Sam has 3 apples and buys 4 more. How many apples does he have?"}]})",
       R"({"text": "The cat sat on the mat and looked at the dog."})",
       R"({"messages": [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hello, how can I help you?"}]})"},
      ".jsonl"
  );
  options.corpus.max_tokens = 48;
  return options;
}

TEST(Kl, AModelAgainstItselfIsExactlyZero) {
  const TaskResult task = run_kl({demo_model(), demo_model()}, three_texts());
  ASSERT_TRUE(task.distribution.has_value());
  EXPECT_EQ(task.distribution->mean_kl.value, 0);
  EXPECT_EQ(task.distribution->max_kl, 0);
  EXPECT_EQ(task.distribution->top1.value, 1);
  EXPECT_EQ(task.distribution->perplexity_ratio.value, 1);
  EXPECT_EQ(task.distribution->same_top1_documents, 3);
}

// All logits of a document in one forward pass.
std::vector<float> all_logits(LoadedModel& loaded, const std::vector<int32_t>& ids) {
  KvPool pool(loaded.model->kv_layout(), 64);
  KvSequence sequence(pool);
  EXPECT_TRUE(sequence.reserve(static_cast<int64_t>(ids.size())));
  const SequenceInput input{
      .tokens = ids, .kv = &sequence, .parents = {}, .logits = LogitRows::kAll};
  ForwardOutput output;
  loaded.model->forward({&input, 1}, output);
  const auto values = std::as_const(output.logits).as<float>();
  return {values.begin(), values.end()};
}

std::vector<double> naive_log_softmax(const float* row, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; ++i) sum += std::exp(static_cast<double>(row[i]));
  std::vector<double> out(n);
  for (size_t i = 0; i < n; ++i) out[i] = static_cast<double>(row[i]) - std::log(sum);
  return out;
}

TEST(Kl, MatchesANaiveComputationWhateverTheChunk) {
  LoadedModel coarse = changed_demo(coarsen_weights);
  const ModelPair models{demo_model(), coarse};
  KlOptions options = three_texts();
  const TeacherCorpus corpus = read_corpus(models, options.corpus);
  const auto vocab = static_cast<size_t>(demo_model().model->config().vocab);
  double kl = 0;
  double shift = 0;
  int64_t agree = 0;
  int64_t tokens = 0;
  for (const TeacherDocument& document : corpus.documents) {
    const auto p_logits = all_logits(demo_model(), document.ids);
    const auto q_logits = all_logits(coarse, document.ids);
    for (auto at = static_cast<size_t>(document.scored_from); at < document.ids.size(); ++at) {
      const float* p_row = &p_logits[(at - 1) * vocab];
      const float* q_row = &q_logits[(at - 1) * vocab];
      const auto p = naive_log_softmax(p_row, vocab);
      const auto q = naive_log_softmax(q_row, vocab);
      for (size_t i = 0; i < vocab; ++i) kl += std::exp(p[i]) * (p[i] - q[i]);
      agree += std::max_element(p_row, p_row + vocab) - p_row ==
                       std::max_element(q_row, q_row + vocab) - q_row
                   ? 1
                   : 0;
      const auto actual = static_cast<size_t>(document.ids[at]);
      shift += p[actual] - q[actual];
      ++tokens;
    }
  }
  const double n = static_cast<double>(tokens);
  std::vector<double> means;
  for (const int64_t chunk : {0, 1, 7}) {
    options.chunk = chunk;
    const TaskResult task = run_kl(models, options);
    ASSERT_TRUE(task.distribution.has_value()) << task.invalid;
    const DistributionSummary& d = *task.distribution;
    EXPECT_EQ(d.tokens, tokens);
    EXPECT_GT(d.mean_kl.value, 1e-4);
    // Sums of 2048 terms in float64: 2048 * 2^-53 * |log p| < 1e-10.
    EXPECT_NEAR(d.mean_kl.value, kl / n, 1e-10);
    EXPECT_NEAR(d.top1.value, static_cast<double>(agree) / n, 1e-15);
    EXPECT_NEAR(d.perplexity_ratio.value, std::exp(shift / n), 1e-10);
    means.push_back(d.mean_kl.value);
  }
  EXPECT_EQ(means[0], means[1]);
  EXPECT_EQ(means[0], means[2]);
}

TEST(Kl, NamesTheTokensThatDifferMost) {
  LoadedModel coarse = changed_demo(coarsen_weights);
  const TaskResult task = run_kl({demo_model(), coarse}, three_texts());
  ASSERT_TRUE(task.distribution.has_value());
  const auto& worst = task.distribution->worst;
  ASSERT_FALSE(worst.empty());
  EXPECT_EQ(worst[0].token.distance.kl, task.distribution->max_kl);
  EXPECT_FALSE(worst[0].context.empty());
  EXPECT_FALSE(worst[0].reference_top.empty());
  ASSERT_EQ(task.samples.size(), 3U);
  EXPECT_EQ(task.samples[2].at("text").get<std::string>().rfind("Hello, how", 0), 0U);
}

TEST(Kl, OtherVocabularyIsNoComparison) {
  LoadedModel other = changed_demo([](const std::filesystem::path& folder) {
    replace_in_file(
        folder / "tokenizer_config.json", "<|im_start|>assistant", "<|im_start|> assistant"
    );
  });
  const TaskResult task = run_kl({demo_model(), other}, three_texts());
  EXPECT_NE(task.invalid, "");
  EXPECT_FALSE(task.distribution.has_value());
}

}  // namespace
}  // namespace hone
