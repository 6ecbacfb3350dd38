// Acceptance of a head, counted on held-out rows exactly as serving would count it.
#pragma once

#include <cstdint>
#include <vector>

#include "core/json/json.h"
#include "speculator/train/batch.h"
#include "speculator/train/objective.h"

namespace hone {

// Counts over rows; add() them up.
struct Acceptance {
  std::vector<int64_t> supervised;  // [step] positions with a target
  std::vector<int64_t> matched;     // drafted token == the target's, fed true tokens
  std::vector<int64_t> reached;     // all earlier steps matched: the chain is alive
  std::vector<int64_t> accepted;    // and this one too
  int64_t verifications = 0;        // of a walk through the answers with chains of `steps` tokens
  int64_t produced = 0;             // tokens that the walk made
  double loss = 0;                  // sum over steps and supervised positions
  double loss_weight = 0;

  explicit Acceptance(int64_t steps = 0);
  void add(const Acceptance& other);
  // Teacher-forced: share of positions of step k with the right token.
  [[nodiscard]] double forced(int64_t step) const;
  // True chain: share of right tokens among the chains that were right until step k.
  [[nodiscard]] double chain(int64_t step) const;
  // Tokens per verification, the target's own (bonus) token included.
  [[nodiscard]] double length() const;
  [[nodiscard]] double mean_loss() const;
  // {"acceptance_length", "teacher_forced": [..], "chain": [..], "loss"}
  [[nodiscard]] Json to_json() const;
};

// Counts one evaluated batch. Feeding the true token is feeding the chain's own as long as all
// before were right, so one teacher-forced pass gives the true chain as well; and a walk that
// starts after each verification's last token visits the positions that the engine visits.
Acceptance count_acceptance(const TttBatch& batch, const ObjectiveResult& result);

}  // namespace hone
