#include "speculator/autograd/ttt_attention.h"

#include <cmath>
#include <memory>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "tests/speculator/autograd/gradient_check.h"

namespace hone {
namespace {

using testing_speculator::expect_gradients;
using testing_speculator::Matrix;
using testing_speculator::random_matrix;

// Two packed sequences of 6 and 3 rows; starts at rows 2, 3, 5 of the first and 1 of the second.
std::shared_ptr<const TttLayout> two_sequences() {
  auto layout = std::make_shared<TttLayout>();
  layout->sequences = {{0, 6, 0, 3}, {6, 3, 3, 1}};
  layout->row = {2, 3, 5, 7};
  layout->total = 9;
  return layout;
}

constexpr AttentionShape kShape{4, 2, 3};

struct Operands {
  std::vector<Matrix> inputs;  // q, keys.., values..
};

Operands operands(int64_t later) {
  Operands o;
  o.inputs.push_back(random_matrix(4, 12, 1));
  for (uint64_t kind = 0; kind < 2; ++kind)
    for (int64_t j = 0; j <= later; ++j)
      o.inputs.push_back(random_matrix(j == 0 ? 9 : 4, 6, 10 + 20 * kind + static_cast<uint64_t>(j))
      );
  return o;
}

Var build(Tape& tape, const std::vector<Var>& v, int64_t later) {
  const auto split = v.begin() + 1 + later + 1;
  return ttt_attention(
      tape, v[0], {v.begin() + 1, split}, {split, v.end()}, two_sequences(), kShape
  );
}

// From the definition, in double, one (row, head) at a time.
std::vector<double> reference(const Operands& o, int64_t later) {
  const auto layout = two_sequences();
  std::vector<double> out(4 * 12, 0.0);
  const auto at = [](const Matrix& m, int64_t row, int64_t col) {
    return static_cast<double>(m.values[static_cast<size_t>(row * m.cols + col)]);
  };
  for (const TttSequence& s : layout->sequences)
    for (int64_t a = s.active_begin; a < s.active_begin + s.active_count; ++a)
      for (int64_t h = 0; h < kShape.heads; ++h) {
        const int64_t kv = h / 2 * 3;
        struct Seen {
          const Matrix* k;
          const Matrix* v;
          int64_t row;
        };
        std::vector<Seen> seen;
        const auto values = static_cast<size_t>(1 + later + 1);
        for (int64_t row = s.begin; row <= layout->row[static_cast<size_t>(a)]; ++row)
          seen.push_back({&o.inputs[1], &o.inputs[values], row});
        for (size_t j = 1; j <= static_cast<size_t>(later); ++j)
          seen.push_back({&o.inputs[1 + j], &o.inputs[values + j], a});
        std::vector<double> p;
        double total = 0;
        for (const Seen& x : seen) {
          double score = 0;
          for (int64_t c = 0; c < 3; ++c)
            score += at(o.inputs[0], a, h * 3 + c) * at(*x.k, x.row, kv + c);
          p.push_back(std::exp(score / std::sqrt(3.0)));
          total += p.back();
        }
        for (size_t i = 0; i < seen.size(); ++i)
          for (int64_t c = 0; c < 3; ++c)
            out[static_cast<size_t>(a * 12 + h * 3 + c)] +=
                p[i] / total * at(*seen[i].v, seen[i].row, kv + c);
      }
  return out;
}

TEST(TttAttention, SeesStepZeroCausallyAndLaterStepsOnTheDiagonal) {
  for (const int64_t later : {0, 1, 3}) {
    const Operands o = operands(later);
    Tape tape;
    std::vector<Var> v;
    for (const Matrix& m : o.inputs) v.push_back(tape.constant(m.values.data(), m.rows, m.cols));
    const Var y = build(tape, v, later);
    const std::vector<double> expected = reference(o, later);
    for (size_t i = 0; i < expected.size(); ++i) EXPECT_NEAR(tape.value(y)[i], expected[i], 2e-6);
  }
}

TEST(TttAttention, Gradients) {
  for (const int64_t later : {0, 1, 3})
    expect_gradients(operands(later).inputs, [later](Tape& t, const std::vector<Var>& v) {
      return build(t, v, later);
    });
}

TEST(TttAttention, GradientsAddUpOverSteps) {
  // Step 1 attends the keys of step 0 too, as the unrolled training does.
  expect_gradients(operands(1).inputs, [](Tape& t, const std::vector<Var>& v) {
    const Var first = ttt_attention(t, v[0], {v[1]}, {v[3]}, two_sequences(), kShape);
    return ttt_attention(t, first, {v[1], v[2]}, {v[3], v[4]}, two_sequences(), kShape);
  });
}

TEST(TttAttention, RowsOfOtherSequencesAndLaterRowsDoNotMatter) {
  Operands o = operands(1);
  const auto run = [&] {
    Tape tape;
    std::vector<Var> v;
    for (const Matrix& m : o.inputs) v.push_back(tape.constant(m.values.data(), m.rows, m.cols));
    const float* y = tape.value(build(tape, v, 1));
    return std::vector<float>(y, y + 12);  // of the start at row 2 of the first sequence
  };
  const std::vector<float> before = run();
  for (const size_t input : {size_t{1}, size_t{3}})
    for (size_t i = 3 * 6; i < 9 * 6; ++i) o.inputs[input].values[i] += 100.0F;
  EXPECT_EQ(run(), before);
}

TEST(TttAttention, EqualForEveryNumberOfThreads) {
  const Operands o = operands(2);
  std::vector<std::vector<float>> results;
  for (const int threads : {1, 2, 5}) {
    ThreadPool::set_threads(threads);
    std::vector<std::vector<float>> gradients;
    for (const Matrix& m : o.inputs) gradients.emplace_back(m.values.size(), 0.0F);
    Tape tape;
    std::vector<Var> v;
    for (size_t i = 0; i < o.inputs.size(); ++i)
      v.push_back(tape.parameter(
          o.inputs[i].values.data(), gradients[i].data(), o.inputs[i].rows, o.inputs[i].cols
      ));
    const Var y = build(tape, v, 2);
    std::vector<float> all(tape.value(y), tape.value(y) + tape.size(y));
    tape.backward(sum(tape, mul(tape, y, y)));
    for (const auto& g : gradients) all.insert(all.end(), g.begin(), g.end());
    results.push_back(all);
  }
  ThreadPool::set_threads(2);
  EXPECT_EQ(results[0], results[1]);
  EXPECT_EQ(results[0], results[2]);
}

TEST(TttAttention, RefusesShapesThatDoNotFit) {
  const Operands o = operands(1);
  Tape tape;
  std::vector<Var> v;
  for (const Matrix& m : o.inputs) v.push_back(tape.constant(m.values.data(), m.rows, m.cols));
  const auto layout = two_sequences();
  EXPECT_THROW(ttt_attention(tape, v[0], {v[2]}, {v[3]}, layout, kShape), InternalError);
  EXPECT_THROW(ttt_attention(tape, v[0], {v[1]}, {}, layout, kShape), InternalError);
  EXPECT_THROW(ttt_attention(tape, v[0], {v[1]}, {v[3]}, layout, {4, 3, 3}), InternalError);
}

}  // namespace
}  // namespace hone
