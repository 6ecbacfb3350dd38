#include "eval/task/kl.h"

#include <algorithm>

#include "core/base/cancel.h"
#include "core/base/error.h"
#include "core/base/progress.h"
#include "eval/metric/distribution.h"
#include "runtime/op/distribution.h"
#include "runtime/sample/sampler.h"

namespace hone {
namespace {

constexpr int64_t kLogitBudget = int64_t{1} << 25;  // values, 128 MiB
constexpr int64_t kPrefillChunk = 256;
constexpr int64_t kContextTokens = 24;  // shown before a worst token

// One model reading one document piece by piece.
class Reader {
 public:
  Reader(Model& model, int64_t longest)
      : model_(model), pool_(model.kv_layout(), longest / kPageTokens + 2) {}

  void start() { sequence_.emplace(pool_); }

  // Reads tokens; logits of all rows with kAll.
  std::span<const float> read(std::span<const int32_t> tokens, LogitRows rows) {
    check(
        sequence_->reserve(static_cast<int64_t>(tokens.size())), "the cache of a document is full"
    );
    const SequenceInput input{.tokens = tokens, .kv = &*sequence_, .parents = {}, .logits = rows};
    model_.forward({&input, 1}, output_);
    if (rows == LogitRows::kNone) return {};
    return std::as_const(output_.logits).as<float>();
  }

 private:
  Model& model_;
  KvPool pool_;
  std::optional<KvSequence> sequence_;
  ForwardOutput output_;
};

// Scores of one document for samples.jsonl.
struct DocumentSum {
  int64_t tokens = 0;
  double kl = 0;
  double max_kl = 0;
  int64_t agree = 0;
  int64_t first_disagreement = -1;
};

class Comparison {
 public:
  Comparison(const ModelPair& models, const std::vector<TeacherDocument>& documents, int64_t chunk)
      : vocab_(models.reference.model->config().vocab),
        chunk_(chunk > 0 ? chunk : std::clamp<int64_t>(kLogitBudget / vocab_, 8, kPrefillChunk)),
        reference_(*models.reference.model, longest(documents)),
        candidate_(*models.candidate.model, longest(documents)) {}

  DocumentSum score(const TeacherDocument& document, int32_t index, DistributionCollector& out) {
    reference_.start();
    candidate_.start();
    const std::span<const int32_t> ids(document.ids);
    // Row i predicts token i + 1: rows from scored_from - 1 on are wanted.
    const int64_t first_row = document.scored_from - 1;
    for (int64_t at = 0; at < first_row; at += kPrefillChunk)
      read(ids, at, std::min(at + kPrefillChunk, first_row), LogitRows::kNone);
    const auto size = static_cast<int64_t>(ids.size());
    const int64_t end_row = size - 1;
    DocumentSum sum;
    for (int64_t at = first_row; at < end_row; at += chunk_)
      score_rows(document, index, {at, std::min(at + chunk_, end_row)}, sum, out);
    return sum;
  }

 private:
  struct Rows {
    int64_t begin;
    int64_t end;
  };

  static int64_t longest(const std::vector<TeacherDocument>& documents) {
    size_t tokens = 1;
    for (const TeacherDocument& document : documents)
      tokens = std::max(tokens, document.ids.size());
    return static_cast<int64_t>(tokens);
  }

  std::pair<std::span<const float>, std::span<const float>> read(
      std::span<const int32_t> ids, int64_t begin, int64_t end, LogitRows rows
  ) {
    throw_if_cancelled();
    const auto part = ids.subspan(static_cast<size_t>(begin), static_cast<size_t>(end - begin));
    return {reference_.read(part, rows), candidate_.read(part, rows)};
  }

  void score_rows(
      const TeacherDocument& document,
      int32_t index,
      Rows rows,
      DocumentSum& sum,
      DistributionCollector& out
  ) {
    const auto [p, q] = read(document.ids, rows.begin, rows.end, LogitRows::kAll);
    const std::vector<RowDistance> distances = row_distances(p, q, vocab_);
    const std::span<const int32_t> ids(document.ids);
    const auto actual = ids.subspan(
        static_cast<size_t>(rows.begin) + 1, static_cast<size_t>(rows.end - rows.begin)
    );
    const std::vector<double> log_p = token_log_probs(p, vocab_, actual);
    const std::vector<double> log_q = token_log_probs(q, vocab_, actual);
    for (size_t i = 0; i < actual.size(); ++i) {
      const RowDistance& distance = distances[i];
      out.add({index, static_cast<int32_t>(sum.tokens), actual[i], distance, log_p[i], log_q[i]});
      if (!distance.top1_agrees && sum.first_disagreement < 0) sum.first_disagreement = sum.tokens;
      ++sum.tokens;
      sum.kl += distance.kl;
      sum.max_kl = std::max(sum.max_kl, distance.kl);
      sum.agree += distance.top1_agrees ? 1 : 0;
    }
  }

  int64_t vocab_;
  int64_t chunk_;
  Reader reference_;
  Reader candidate_;
};

Json sample_json(
    size_t item, const TeacherDocument& document, const DocumentSum& sum, const Tokenizer& tokenizer
) {
  const auto from = static_cast<size_t>(document.scored_from);
  const double tokens = static_cast<double>(std::max<int64_t>(sum.tokens, 1));
  return {
      {"task", "kl"},
      {"item", item},
      {"tokens", sum.tokens},
      {"mean_kl", sum.kl / tokens},
      {"max_kl", sum.max_kl},
      {"top1_agreement", static_cast<double>(sum.agree) / tokens},
      {"first_disagreement", sum.first_disagreement < 0 ? Json() : Json(sum.first_disagreement)},
      {"text", tokenizer.decode(std::span<const int32_t>(document.ids).subspan(from), false)}};
}

void name_worst(
    DistributionSummary& summary,
    const std::vector<TeacherDocument>& documents,
    const Tokenizer& tokenizer
) {
  const auto text = [&](int32_t id) {
    return tokenizer.decode(std::span<const int32_t>(&id, 1), false);
  };
  for (WorstToken& worst : summary.worst) {
    const TeacherDocument& document = documents[static_cast<size_t>(worst.token.document)];
    const int64_t at = document.scored_from + worst.token.position;
    const int64_t from = std::max<int64_t>(0, at - kContextTokens);
    worst.context = tokenizer.decode(
        std::span<const int32_t>(document.ids)
            .subspan(static_cast<size_t>(from), static_cast<size_t>(at - from)),
        false
    );
    worst.actual = text(worst.token.actual);
    worst.reference_top = text(worst.token.distance.top1_p);
    worst.candidate_top = text(worst.token.distance.top1_q);
  }
}

}  // namespace

TaskResult run_kl(const ModelPair& models, const KlOptions& options) {
  TaskResult task;
  task.key = "kl";
  task.title = "Next-token distributions";
  task.description =
      "Both models predict every token of the same texts (teacher-forced); KL(reference || "
      "candidate) in nats. The reference against itself gives exactly 0.";
  TeacherCorpus corpus = read_corpus(models, options.corpus);
  task.data = corpus.data;
  task.invalid = corpus.mismatch;
  const int64_t vocab = models.reference.model->config().vocab;
  const int64_t other = models.candidate.model->config().vocab;
  if (task.invalid.empty() && vocab != other)
    task.invalid = fmt::format(
        "the vocabularies differ: {} tokens for the reference, {} for the candidate", vocab, other
    );
  if (!task.invalid.empty()) return task;

  Progress progress("kl", static_cast<int64_t>(corpus.documents.size()), "documents");
  Comparison comparison(models, corpus.documents, options.chunk);
  DistributionCollector collector;
  for (size_t i = 0; i < corpus.documents.size(); ++i) {
    DocumentSum sum;
    try {
      sum = comparison.score(corpus.documents[i], static_cast<int32_t>(i), collector);
    } catch (const DataError& error) {
      task.invalid = fmt::format("document {} of {}: {}", i, corpus.data.name, error.what());
      return task;
    }
    task.samples.push_back(sample_json(i, corpus.documents[i], sum, *models.reference.tokenizer));
    progress.advance();
  }
  progress.finish();
  task.distribution = collector.summary(options.seed, static_cast<size_t>(options.worst));
  name_worst(*task.distribution, corpus.documents, *models.reference.tokenizer);
  return task;
}

}  // namespace hone
