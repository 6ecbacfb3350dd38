// Paired binary outcomes: the same items answered by a reference and by a candidate.
//
// Comparing two scores wastes the pairing: what decides is how many items flip, not how many are
// right. `lost` = reference right, candidate wrong; `gained` the other way round.
#pragma once

#include <cstdint>

#include "eval/stat/interval.h"

namespace hone {

// The 2x2 table of paired outcomes.
struct PairedCounts {
  int64_t both = 0;
  int64_t lost = 0;
  int64_t gained = 0;
  int64_t neither = 0;

  void add(bool reference, bool candidate);
  [[nodiscard]] int64_t n() const { return both + lost + gained + neither; }
  [[nodiscard]] int64_t reference_right() const { return both + lost; }
  [[nodiscard]] int64_t candidate_right() const { return both + gained; }
  [[nodiscard]] int64_t flips() const { return lost + gained; }
  // candidate - reference, as a fraction; 0 for an empty table.
  [[nodiscard]] double difference() const;
  // flips / n; 0 for an empty table.
  [[nodiscard]] double flip_rate() const;
  bool operator==(const PairedCounts&) const = default;
};

// McNemar's test that losses and gains are equally likely.
struct McNemar {
  double exact = 1;  // two-sided binomial(flips, 1/2); 1 without flips
  double mid_p = 1;  // the same with half the weight of the observed table
};
// Fagerland, Lydersen, Laake, BMC Med. Res. Methodol. 13:91 (2013).
McNemar mcnemar(const PairedCounts& counts);

// Score interval of the paired difference candidate - reference at two-sided `level`: the set of
// differences d that the score test does not reject. Holds its level for few flips, where the Wald
// interval collapses to nothing. Throws UsageError for an empty table.
// Tango, Statistics in Medicine 17, 891-908 (1998).
Interval tango_interval(const PairedCounts& counts, double level);

}  // namespace hone
