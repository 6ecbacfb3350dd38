// Training rows: token ids with a loss mask, and the split into training and held-out parts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace hone {

// One sequence. mask[i] is 1 where ids[i] was said by the assistant, its end token included.
struct TrainingRow {
  std::string conversation;
  std::vector<int32_t> ids;
  std::vector<uint8_t> mask;

  // A prompt and the answer to it.
  static TrainingRow make(
      std::string conversation, std::vector<int32_t> prompt, const std::vector<int32_t>& answer
  );

  // Whether step k of the row at position t has a target: t is followed by an unbroken run of the
  // assistant's tokens t + 1 .. t + 2 + k. The mask thus moves together with the token that is fed
  // (t + 1 + k) and the one that is predicted (t + 2 + k), and a chain starts only where the engine
  // starts one: after a token of the answer.
  [[nodiscard]] bool supervised(int64_t t, int64_t step) const;
  // Positions t with a target at step 0, ascending.
  [[nodiscard]] std::vector<int64_t> starts() const;
  // Positions p whose next-token distribution is a target of some step.
  [[nodiscard]] std::vector<int64_t> targets() const;
  [[nodiscard]] int64_t length() const { return static_cast<int64_t>(ids.size()); }
};

struct RowSplit {
  std::vector<TrainingRow> train;
  std::vector<TrainingRow> held_out;
};

// A row is held out when the hash of its conversation falls into the lowest `fraction`: all rows of
// a conversation stay together, and adding traces moves none. Rows without a target are dropped.
RowSplit split_rows(std::vector<TrainingRow> rows, double fraction);

}  // namespace hone
