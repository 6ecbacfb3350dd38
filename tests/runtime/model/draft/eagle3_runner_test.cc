#include "runtime/model/draft/eagle3_runner.h"

#include <algorithm>
#include <cmath>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "tests/reference/ops.h"
#include "tests/runtime/model/draft/small_head.h"

namespace hone {
namespace {

using reference::Doubles;
using testing_draft::random_tensor;
using testing_draft::small_head;

Doubles doubles(const Tensor& tensor) {
  return reference::to_double(tensor.as<float>());
}

// The head in double from its formula: rows 0 .. n-1 at positions 0 .. n-1, causal, all outputs.
// `features` are the rows' inputs; returns the layer's output.
Doubles reference_layer(const Eagle3Head& head, const Doubles& embedded, const Doubles& features) {
  const Eagle3Config& c = head.config;
  const Eagle3Parameters<Tensor>& w = head.weights;
  const auto rows = static_cast<int64_t>(features.size()) / c.hidden;
  const Doubles e = reference::rms_norm(embedded, doubles(w.input_norm), c.rms_eps);
  const Doubles g = reference::rms_norm(features, doubles(w.hidden_norm), c.rms_eps);
  Doubles x;
  std::vector<int64_t> positions;
  for (int64_t r = 0; r < rows; ++r) {
    x.insert(x.end(), e.begin() + r * c.hidden, e.begin() + (r + 1) * c.hidden);
    x.insert(x.end(), g.begin() + r * c.hidden, g.begin() + (r + 1) * c.hidden);
    positions.push_back(r);
  }
  const Doubles frequencies = c.rope.inverse_frequencies(c.head_dim);
  const auto project = [&](const Tensor& weight) {
    return reference::matmul(x, doubles(weight), weight.shape().dim(0), weight.shape().dim(1));
  };
  const Doubles q = reference::rope(project(w.q), positions, frequencies, c.heads, c.head_dim);
  const Doubles k = reference::rope(project(w.k), positions, frequencies, c.kv_heads, c.head_dim);
  const Doubles v = project(w.v);
  Doubles attended(static_cast<size_t>(rows * c.heads * c.head_dim));
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t h = 0; h < c.heads; ++h) {
      const auto at = q.begin() + (r * c.heads + h) * c.head_dim;
      Doubles keys;
      Doubles values;
      for (int64_t j = 0; j <= r; ++j) {
        const int64_t place = (j * c.kv_heads + h / (c.heads / c.kv_heads)) * c.head_dim;
        keys.insert(keys.end(), k.begin() + place, k.begin() + place + c.head_dim);
        values.insert(values.end(), v.begin() + place, v.begin() + place + c.head_dim);
      }
      const auto out = reference::attention(
                           Doubles(at, at + c.head_dim),
                           keys,
                           values,
                           1.0 / std::sqrt(static_cast<double>(c.head_dim))
      )
                           .out;
      std::copy(out.begin(), out.end(), attended.begin() + (r * c.heads + h) * c.head_dim);
    }
  const auto linear = [&](const Doubles& input, const Tensor& weight) {
    return reference::matmul(input, doubles(weight), weight.shape().dim(0), weight.shape().dim(1));
  };
  Doubles h = linear(attended, w.o);
  for (size_t i = 0; i < h.size(); ++i) h[i] += features[i];
  const Doubles n = reference::rms_norm(h, doubles(w.post_norm), c.rms_eps);
  Doubles gate = linear(n, w.gate);
  const Doubles up = linear(n, w.up);
  for (size_t i = 0; i < gate.size(); ++i) gate[i] = reference::silu(gate[i]) * up[i];
  Doubles y = linear(gate, w.down);
  for (size_t i = 0; i < y.size(); ++i) y[i] += h[i];
  return y;
}

struct Input {
  std::vector<int32_t> tokens;
  Tensor taps;
};

Input random_input(int64_t rows, uint64_t seed) {
  Input input;
  Rng rng(seed);
  for (int64_t i = 0; i < rows; ++i) input.tokens.push_back(static_cast<int32_t>(rng.below(50)));
  input.taps = random_tensor({rows, 96}, seed + 1, 1);
  return input;
}

std::vector<float> floats(const Tensor& tensor) {
  const std::span<const float> x = tensor.as<float>();
  return {x.begin(), x.end()};
}

TEST(Eagle3Runner, FollowsTheFormula) {
  const Eagle3Head head = small_head();
  const Tensor embeddings = random_tensor({50, 32}, 3, 1);
  Eagle3Runner runner(head, embeddings);
  KvPool pool(runner.kv_layout(), 16);
  KvSequence kv(pool);
  ASSERT_TRUE(kv.reserve(40));
  const Input input = random_input(40, 8);
  const std::vector<Eagle3Rows> rows = {{&kv, 40, 40}};
  const Tensor features = runner.fuse(input.taps);
  const Tensor y = runner.step(rows, input.tokens, features);
  EXPECT_EQ(kv.length(), 40);

  Doubles embedded;
  for (const int32_t token : input.tokens)
    for (size_t i = 0; i < 32; ++i)
      embedded.push_back(embeddings.as<float>()[static_cast<size_t>(token) * 32 + i]);
  const Doubles g = reference::matmul(doubles(input.taps), doubles(head.weights.fc), 32, 96);
  const Doubles expected = reference_layer(head, embedded, g);
  double largest = 0;
  for (size_t i = 0; i < expected.size(); ++i)
    largest = std::max(largest, std::fabs(expected[i] - static_cast<double>(y.as<float>()[i])));
  // Outputs of order 1 through sums of up to 96 terms: 96 * 2^-24 * a few.
  EXPECT_LT(largest, 3e-5);

  const Doubles logits = reference::matmul(
      reference::rms_norm(expected, doubles(head.weights.norm), head.config.rms_eps),
      doubles(head.weights.lm_head),
      20,
      32
  );
  const Tensor found = runner.logits(y);
  const std::vector<int32_t> best = runner.best_tokens(y);
  for (size_t r = 0; r < 40; ++r) {
    for (size_t v = 0; v < 20; ++v)
      ASSERT_NEAR(found.as<float>()[r * 20 + v], logits[r * 20 + v], 3e-5);
    const auto first = logits.begin() + static_cast<int64_t>(r) * 20;
    EXPECT_EQ(best[r], 2 * (std::max_element(first, first + 20) - first));  // through the map
  }
}

TEST(Eagle3Runner, ChunksBatchesAndOutputRowsGiveTheSameBits) {
  Eagle3Runner runner(small_head(), random_tensor({50, 32}, 3, 1));
  KvPool pool(runner.kv_layout(), 64);
  const Input a = random_input(45, 8);
  const Input b = random_input(7, 9);
  // All rows at once.
  KvSequence whole(pool);
  ASSERT_TRUE(whole.reserve(45));
  const std::vector<Eagle3Rows> at_once = {{&whole, 45, 45}};
  const std::vector<float> all = floats(runner.step(at_once, a.tokens, runner.fuse(a.taps)));
  // The first 30 without outputs, beside another sequence; the rest with the last one only.
  KvSequence chunked(pool);
  KvSequence other(pool);
  ASSERT_TRUE(chunked.reserve(45));
  ASSERT_TRUE(other.reserve(7));
  std::vector<int32_t> tokens(a.tokens.begin(), a.tokens.begin() + 30);
  tokens.insert(tokens.end(), b.tokens.begin(), b.tokens.end());
  Tensor taps(DType::kF32, {37, 96});
  std::copy_n(a.taps.as<float>().data(), 30 * 96, taps.as<float>().data());
  std::copy_n(b.taps.as<float>().data(), 7 * 96, taps.as<float>().data() + 30 * 96);
  const std::vector<Eagle3Rows> first = {{&chunked, 30, 0}, {&other, 7, 2}};
  const Tensor early = runner.step(first, tokens, runner.fuse(taps));
  EXPECT_EQ(early.shape(), (Shape{2, 32}));
  Tensor rest(DType::kF32, {15, 96});
  std::copy_n(a.taps.as<float>().data() + 30 * 96, 15 * 96, rest.as<float>().data());
  const std::vector<Eagle3Rows> second = {{&chunked, 15, 1}};
  const std::vector<float> last =
      floats(runner.step(second, std::span(a.tokens).subspan(30), runner.fuse(rest)));
  EXPECT_EQ(last, std::vector<float>(all.end() - 32, all.end()));
}

TEST(Eagle3Runner, DraftedRowsCanBeForgotten) {
  Eagle3Runner runner(small_head(), random_tensor({50, 32}, 3, 1));
  KvPool pool(runner.kv_layout(), 64);
  const Input a = random_input(33, 8);
  const auto run = [&](bool drafts_between) {
    KvSequence kv(pool);
    EXPECT_TRUE(kv.reserve(40));
    Tensor start(DType::kF32, {32, 96});
    std::copy_n(a.taps.as<float>().data(), 32 * 96, start.as<float>().data());
    const std::vector<Eagle3Rows> first = {{&kv, 32, 1}};
    Tensor y = runner.step(first, std::span(a.tokens).first(32), runner.fuse(start));
    if (drafts_between) {
      const std::vector<Eagle3Rows> one = {{&kv, 1, 1}};
      const std::vector<int32_t> token = {4};
      for (int i = 0; i < 3; ++i) y = runner.step(one, token, y);
      kv.truncate(32);
      EXPECT_TRUE(kv.reserve(1));
    }
    Tensor end(DType::kF32, {1, 96});
    std::copy_n(a.taps.as<float>().data() + 32 * 96, 96, end.as<float>().data());
    const std::vector<Eagle3Rows> next = {{&kv, 1, 1}};
    return floats(runner.step(next, std::span(a.tokens).subspan(32), runner.fuse(end)));
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(Eagle3Runner, RefusesAnEmbeddingOfAnotherSize) {
  EXPECT_THROW(Eagle3Runner(small_head(), Tensor(DType::kF32, {50, 31})), UsageError);
  EXPECT_THROW(Eagle3Runner(small_head(), Tensor(DType::kF32, {49, 32})), UsageError);
}

}  // namespace
}  // namespace hone
