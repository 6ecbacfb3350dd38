#include "speculator/autograd/ttt_attention.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>

#include "core/base/error.h"
#include "runtime/op/exp.h"
#include "speculator/autograd/lanes.h"
#include "speculator/autograd/strided_gemm.h"

namespace hone {
namespace {

// One operation's sizes and operands.
struct Attention {
  Var q;
  std::vector<Var> keys;
  std::vector<Var> values;
  std::shared_ptr<const TttLayout> layout;
  AttentionShape shape;
  float scale = 0;
  [[nodiscard]] int64_t group() const { return shape.heads / shape.kv_heads; }
  [[nodiscard]] int64_t q_stride() const { return shape.heads * shape.head_dim; }
  [[nodiscard]] int64_t kv_stride() const { return shape.kv_heads * shape.head_dim; }
  [[nodiscard]] int64_t later() const { return static_cast<int64_t>(keys.size()) - 1; }
};

// The unit of work: one query head of one sequence. Probabilities are kept as [count, width],
// width = length + later steps.
struct Head {
  int64_t count = 0;
  int64_t length = 0;
  int64_t width = 0;
  int64_t q_offset = 0;       // first active row, this head
  int64_t kv_offset = 0;      // first packed row, its kv head
  int64_t active_offset = 0;  // first active row, its kv head
  int64_t p_offset = 0;
};

Head head_of(const Attention& a, const TttSequence& s, int64_t head, int64_t p_begin) {
  const int64_t kv_column = head / a.group() * a.shape.head_dim;
  Head h;
  h.count = s.active_count;
  h.length = s.length;
  h.width = s.length + a.later();
  h.q_offset = s.active_begin * a.q_stride() + head * a.shape.head_dim;
  h.kv_offset = s.begin * a.kv_stride() + kv_column;
  h.active_offset = s.active_begin * a.kv_stride() + kv_column;
  h.p_offset = p_begin + head * h.count * h.width;
  return h;
}

// Where the probabilities of each sequence start; the last entry is their total size.
std::vector<int64_t> probability_offsets(const Attention& a) {
  std::vector<int64_t> offsets{0};
  for (const TttSequence& s : a.layout->sequences)
    offsets.push_back(offsets.back() + a.shape.heads * s.active_count * (s.length + a.later()));
  return offsets;
}

void forward_head(
    const Tape& tape, const Attention& a, const TttSequence& s, const Head& h, float* p, float* out
) {
  const int64_t d = a.shape.head_dim;
  const float* q = tape.value(a.q) + h.q_offset;
  StridedGemm scores{.transpose_b = true, .m = h.count, .n = h.length, .k = d, .alpha = a.scale};
  scores.a = q;
  scores.lda = a.q_stride();
  scores.b = tape.value(a.keys[0]) + h.kv_offset;
  scores.ldb = a.kv_stride();
  scores.c = p;
  scores.ldc = h.width;
  strided_gemm(scores);
  for (int64_t i = 0; i < h.count; ++i) {
    float* row = p + i * h.width;
    const int64_t seen = a.layout->row[static_cast<size_t>(s.active_begin + i)] - s.begin + 1;
    const float* query = q + i * a.q_stride();
    for (int64_t j = 0; j < a.later(); ++j) {
      const float* key =
          tape.value(a.keys[static_cast<size_t>(j + 1)]) + h.active_offset + i * a.kv_stride();
      row[h.length + j] = a.scale * lane_sum(d, [=](int64_t c) { return query[c] * key[c]; });
    }
    float largest = lane_max(row, seen);
    for (int64_t j = h.length; j < h.width; ++j) largest = std::max(largest, row[j]);
    for (int64_t j = 0; j < h.width; ++j) row[j] -= largest;
    const std::span<float> all(row, static_cast<size_t>(h.width));
    exp(all, all);
    std::fill(row + seen, row + h.length, 0.0F);
    const float inverse = 1.0F / lane_sum(h.width, [=](int64_t j) { return row[j]; });
    for (int64_t j = 0; j < h.width; ++j) row[j] *= inverse;
  }
  StridedGemm mix{.m = h.count, .n = d, .k = h.length};
  mix.a = p;
  mix.lda = h.width;
  mix.b = tape.value(a.values[0]) + h.kv_offset;
  mix.ldb = a.kv_stride();
  mix.c = out + h.q_offset;
  mix.ldc = a.q_stride();
  strided_gemm(mix);
  for (int64_t i = 0; i < h.count; ++i)
    for (int64_t j = 0; j < a.later(); ++j) {
      const float weight = p[i * h.width + h.length + j];
      const float* value =
          tape.value(a.values[static_cast<size_t>(j + 1)]) + h.active_offset + i * a.kv_stride();
      float* to = out + h.q_offset + i * a.q_stride();
      for (int64_t c = 0; c < d; ++c) to[c] += weight * value[c];
    }
}

// The sinks of one backward call. Every buffer is filled with zeros first, so all add.
struct Sinks {
  float* q = nullptr;
  std::vector<float*> keys;
  std::vector<float*> values;
};

// ds = p (dp - sum(p dp)), scaled, over one row.
void softmax_backward(const float* p, float* dp, int64_t n, float scale) {
  const float dot = lane_sum(n, [=](int64_t j) { return p[j] * dp[j]; });
  for (int64_t j = 0; j < n; ++j) dp[j] = scale * p[j] * (dp[j] - dot);
}

void backward_later(
    const Tape& tape,
    const Attention& a,
    const Head& h,
    const float* p,
    const float* ds,
    const float* dout,
    const Sinks& to
) {
  const int64_t d = a.shape.head_dim;
  const float* q = tape.value(a.q) + h.q_offset;
  for (int64_t i = 0; i < h.count; ++i)
    for (int64_t j = 0; j < a.later(); ++j) {
      const auto step = static_cast<size_t>(j + 1);
      const int64_t at = h.active_offset + i * a.kv_stride();
      const float weight = p[i * h.width + h.length + j];
      const float slope = ds[i * h.width + h.length + j];
      const float* key = tape.value(a.keys[step]) + at;
      const float* query = q + i * a.q_stride();
      const float* g = dout + i * a.q_stride();
      float* dq = to.q + h.q_offset + i * a.q_stride();
      for (int64_t c = 0; c < d; ++c) dq[c] += slope * key[c];
      for (int64_t c = 0; c < d; ++c) to.keys[step][at + c] += slope * query[c];
      for (int64_t c = 0; c < d; ++c) to.values[step][at + c] += weight * g[c];
    }
}

void backward_head(
    const Tape& tape,
    const Attention& a,
    const Head& h,
    const float* p,
    const float* dy,
    const Sinks& to,
    std::vector<float>& ds
) {
  const int64_t d = a.shape.head_dim;
  const float* dout = dy + h.q_offset;
  ds.resize(static_cast<size_t>(h.count * h.width));
  StridedGemm dp{.transpose_b = true, .m = h.count, .n = h.length, .k = d};
  dp.a = dout;
  dp.lda = a.q_stride();
  dp.b = tape.value(a.values[0]) + h.kv_offset;
  dp.ldb = a.kv_stride();
  dp.c = ds.data();
  dp.ldc = h.width;
  strided_gemm(dp);
  for (int64_t i = 0; i < h.count; ++i) {
    const float* g = dout + i * a.q_stride();
    for (int64_t j = 0; j < a.later(); ++j) {
      const float* value =
          tape.value(a.values[static_cast<size_t>(j + 1)]) + h.active_offset + i * a.kv_stride();
      ds[static_cast<size_t>(i * h.width + h.length + j)] =
          lane_sum(d, [=](int64_t c) { return g[c] * value[c]; });
    }
    softmax_backward(p + i * h.width, ds.data() + i * h.width, h.width, a.scale);
  }
  StridedGemm to_q{.m = h.count, .n = d, .k = h.length, .accumulate = true};
  to_q.a = ds.data();
  to_q.lda = h.width;
  to_q.b = tape.value(a.keys[0]) + h.kv_offset;
  to_q.ldb = a.kv_stride();
  to_q.c = to.q + h.q_offset;
  to_q.ldc = a.q_stride();
  strided_gemm(to_q);
  StridedGemm to_k{.transpose_a = true, .m = h.length, .n = d, .k = h.count, .accumulate = true};
  to_k.a = ds.data();
  to_k.lda = h.width;
  to_k.b = tape.value(a.q) + h.q_offset;
  to_k.ldb = a.q_stride();
  to_k.c = to.keys[0] + h.kv_offset;
  to_k.ldc = a.kv_stride();
  strided_gemm(to_k);
  StridedGemm to_v = to_k;
  to_v.a = p;
  to_v.b = dout;
  to_v.c = to.values[0] + h.kv_offset;
  strided_gemm(to_v);
  backward_later(tape, a, h, p, ds.data(), dout, to);
}

float* zeroed(Tape& tape, Var input, Var owner) {
  const auto bytes = static_cast<size_t>(tape.rows(input) * tape.cols(input)) * sizeof(float);
  GradSink to = tape.sink(input);
  if (to.data == nullptr) to.data = tape.scratch(owner, tape.rows(input) * tape.cols(input));
  if (!to.accumulate) std::memset(to.data, 0, bytes);
  return to.data;
}

void run_backward(
    Tape& tape, const Attention& a, Var y, const float* p, const std::vector<int64_t>& offsets
) {
  Sinks to;
  to.q = zeroed(tape, a.q, y);
  for (const Var key : a.keys) to.keys.push_back(zeroed(tape, key, y));
  for (const Var value : a.values) to.values.push_back(zeroed(tape, value, y));
  const float* dy = tape.grad(y);
  const auto sequences = static_cast<int64_t>(a.layout->sequences.size());
  // One kv head of one sequence per piece of work: nobody else adds to its keys and values.
  tape.pool().parallel_for(sequences * a.shape.kv_heads, 1, [&](int64_t begin, int64_t end) {
    std::vector<float> ds;
    for (int64_t unit = begin; unit < end; ++unit) {
      const auto s = static_cast<size_t>(unit / a.shape.kv_heads);
      const int64_t first = unit % a.shape.kv_heads * a.group();
      for (int64_t head = first; head < first + a.group(); ++head) {
        const Head h = head_of(a, a.layout->sequences[s], head, offsets[s]);
        backward_head(tape, a, h, p + h.p_offset, dy, to, ds);
      }
    }
  });
}

void check_operands(const Tape& tape, const Attention& a) {
  const auto active = static_cast<int64_t>(a.layout->row.size());
  check(
      !a.keys.empty() && a.keys.size() == a.values.size(),
      "ttt_attention: {} keys, {} values",
      a.keys.size(),
      a.values.size()
  );
  check(
      a.shape.kv_heads > 0 && a.shape.heads % a.shape.kv_heads == 0,
      "ttt_attention: {} heads over {} kv heads",
      a.shape.heads,
      a.shape.kv_heads
  );
  check(
      tape.rows(a.q) == active && tape.cols(a.q) == a.q_stride(),
      "ttt_attention: q is [{}, {}], expected [{}, {}]",
      tape.rows(a.q),
      tape.cols(a.q),
      active,
      a.q_stride()
  );
  for (size_t j = 0; j < a.keys.size(); ++j)
    for (const Var x : {a.keys[j], a.values[j]})
      check(
          tape.rows(x) == (j == 0 ? a.layout->total : active) && tape.cols(x) == a.kv_stride(),
          "ttt_attention: keys or values of step {} are [{}, {}]",
          j,
          tape.rows(x),
          tape.cols(x)
      );
}

}  // namespace

Var ttt_attention(
    Tape& tape,
    Var q,
    const std::vector<Var>& keys,
    const std::vector<Var>& values,
    std::shared_ptr<const TttLayout> layout,
    const AttentionShape& shape
) {
  Attention a{q, keys, values, std::move(layout), shape};
  check_operands(tape, a);
  a.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(shape.head_dim)));
  std::vector<Var> inputs{q};
  inputs.insert(inputs.end(), keys.begin(), keys.end());
  inputs.insert(inputs.end(), values.begin(), values.end());
  const Var y = tape.make(tape.rows(q), tape.cols(q), inputs);
  std::vector<int64_t> offsets = probability_offsets(a);
  float* p = tape.scratch(y, offsets.back());
  float* out = tape.mutable_value(y);
  const auto sequences = static_cast<int64_t>(a.layout->sequences.size());
  tape.pool().parallel_for(sequences * shape.heads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t unit = begin; unit < end; ++unit) {
      const auto s = static_cast<size_t>(unit / shape.heads);
      const Head h = head_of(a, a.layout->sequences[s], unit % shape.heads, offsets[s]);
      if (h.count > 0) forward_head(tape, a, a.layout->sequences[s], h, p + h.p_offset, out);
    }
  });
  tape.set_backward(y, [&tape, a = std::move(a), y, p, offsets = std::move(offsets)] {
    run_backward(tape, a, y, p, offsets);
  });
  return y;
}

}  // namespace hone
