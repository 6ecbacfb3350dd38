#include "speculator/train/acceptance.h"

#include <algorithm>

#include "core/base/error.h"

namespace hone {
namespace {

double share(int64_t part, int64_t whole) {
  return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
}

// Tokens that an answer still has at active row a, the end token included: each has a start.
int64_t remaining(const TttBatch& batch, int64_t a, int64_t end) {
  const std::vector<int32_t>& row = batch.layout->row;
  int64_t next = a + 1;
  while (next < end && row[static_cast<size_t>(next)] == row[static_cast<size_t>(next - 1)] + 1)
    ++next;
  return next - a;
}

// Chains of one sequence, each verification starting behind the last token of the one before.
// right: [active] drafted tokens that were right in a row.
void walk(
    const TttBatch& batch,
    const std::vector<int64_t>& right,
    const TttSequence& sequence,
    Acceptance& into
) {
  const int64_t end = sequence.active_begin + sequence.active_count;
  for (int64_t a = sequence.active_begin; a < end;) {
    const int64_t produced = std::min(right[static_cast<size_t>(a)] + 1, remaining(batch, a, end));
    ++into.verifications;
    into.produced += produced;
    a += produced;
  }
}

}  // namespace

Acceptance::Acceptance(int64_t steps)
    : supervised(static_cast<size_t>(steps)),
      matched(static_cast<size_t>(steps)),
      reached(static_cast<size_t>(steps)),
      accepted(static_cast<size_t>(steps)) {}

void Acceptance::add(const Acceptance& other) {
  check(supervised.size() == other.supervised.size(), "acceptance: numbers of steps differ");
  for (size_t k = 0; k < supervised.size(); ++k) {
    supervised[k] += other.supervised[k];
    matched[k] += other.matched[k];
    reached[k] += other.reached[k];
    accepted[k] += other.accepted[k];
  }
  verifications += other.verifications;
  produced += other.produced;
  loss += other.loss;
  loss_weight += other.loss_weight;
}

double Acceptance::forced(int64_t step) const {
  return share(matched[static_cast<size_t>(step)], supervised[static_cast<size_t>(step)]);
}

double Acceptance::chain(int64_t step) const {
  return share(accepted[static_cast<size_t>(step)], reached[static_cast<size_t>(step)]);
}

double Acceptance::length() const {
  return share(produced, verifications);
}

double Acceptance::mean_loss() const {
  return loss_weight == 0 ? 0.0 : loss / loss_weight;
}

Json Acceptance::to_json() const {
  Json forced_rates = Json::array();
  Json chain_rates = Json::array();
  for (size_t k = 0; k < supervised.size(); ++k) {
    forced_rates.push_back(forced(static_cast<int64_t>(k)));
    chain_rates.push_back(chain(static_cast<int64_t>(k)));
  }
  return {
      {"acceptance_length", length()},
      {"chain", chain_rates},
      {"teacher_forced", forced_rates},
      {"loss", mean_loss()}};
}

Acceptance count_acceptance(const TttBatch& batch, const ObjectiveResult& result) {
  Acceptance counts(static_cast<int64_t>(batch.steps.size()));
  // Right tokens in a row from each start.
  std::vector<int64_t> right(static_cast<size_t>(batch.active()));
  for (size_t k = 0; k < batch.steps.size(); ++k) {
    const TttBatch::Step& step = batch.steps[k];
    const StepResult& drafted = result.steps[k];
    counts.loss += drafted.loss * drafted.supervised;
    counts.loss_weight += drafted.supervised;
    for (size_t a = 0; a < right.size(); ++a) {
      if (step.truth[a] < 0) continue;
      const bool match = drafted.drafted[a] == step.truth[a];
      const bool alive = right[a] == static_cast<int64_t>(k);
      ++counts.supervised[k];
      counts.matched[k] += match ? 1 : 0;
      counts.reached[k] += alive ? 1 : 0;
      counts.accepted[k] += alive && match ? 1 : 0;
      if (alive && match) ++right[a];
    }
  }
  for (const TttSequence& sequence : batch.layout->sequences) walk(batch, right, sequence, counts);
  return counts;
}

}  // namespace hone
