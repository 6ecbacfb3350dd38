// The forward pass of an EAGLE-3 head, written once: the runtime and the training tape instantiate
// it with their own operations.
//
// Row t holds the feature g_t of target position t (step 0: fc of the taps; later: the head's own
// output, before its final norm) and the embedding e of token t + 1. It predicts token t + 2:
//   x = [input_norm(e) | hidden_norm(g)]             order as published
//   h = g + o(attention(rope(q x), rope(k x), v x))
//   y = h + down(silu(gate n) * up n),  n = post_norm(h)
//   logits = lm_head(norm(y)); the next step's feature is y
// Rows outside `outputs` only leave keys and values: prompts cost no more than that.
// Source: EAGLE-3 (arXiv 2503.01840), feedback before the norm as in the published heads.
#pragma once

#include <concepts>

#include "runtime/model/draft/eagle3_config.h"

namespace hone {

// What the forward pass needs. A Pass says which rows there are: their positions, where keys and
// values go, which rows are outputs.
template <typename Ops>
concept Eagle3Ops = requires(
    Ops& ops, typename Ops::Pass& pass, const typename Ops::Value& x, const typename Ops::Weight& w
) {
  // y = x w^T
  { ops.linear(x, w) } -> std::same_as<typename Ops::Value>;
  { ops.rms_norm(x, w) } -> std::same_as<typename Ops::Value>;
  { ops.add(x, x) } -> std::same_as<typename Ops::Value>;
  // silu(first) * second
  { ops.silu_mul(x, x) } -> std::same_as<typename Ops::Value>;
  // Columns of both side by side.
  { ops.concat(x, x) } -> std::same_as<typename Ops::Value>;
  // The rows of x that are outputs of the pass.
  { ops.outputs(pass, x) } -> std::same_as<typename Ops::Value>;
  // Rotates keys of all rows and stores them with their values.
  ops.store(pass, x, x);
  // Rotates queries of the output rows and attends.
  { ops.attend(pass, x) } -> std::same_as<typename Ops::Value>;
};

// taps: [rows, feature width] -> features [rows, hidden].
template <Eagle3Ops Ops>
typename Ops::Value eagle3_fuse(
    Ops& ops, const Eagle3Parameters<typename Ops::Weight>& weights, const typename Ops::Value& taps
) {
  return ops.linear(taps, weights.fc);
}

// embedded, features: [rows, hidden] -> y of the output rows [outputs, hidden].
template <Eagle3Ops Ops>
typename Ops::Value eagle3_layer(
    Ops& ops,
    const Eagle3Parameters<typename Ops::Weight>& weights,
    typename Ops::Pass& pass,
    const typename Ops::Value& embedded,
    const typename Ops::Value& features
) {
  const auto x = ops.concat(
      ops.rms_norm(embedded, weights.input_norm), ops.rms_norm(features, weights.hidden_norm)
  );
  ops.store(pass, ops.linear(x, weights.k), ops.linear(x, weights.v));
  const auto attended = ops.attend(pass, ops.linear(ops.outputs(pass, x), weights.q));
  const auto h = ops.add(ops.outputs(pass, features), ops.linear(attended, weights.o));
  const auto n = ops.rms_norm(h, weights.post_norm);
  const auto mixed = ops.silu_mul(ops.linear(n, weights.gate), ops.linear(n, weights.up));
  return ops.add(h, ops.linear(mixed, weights.down));
}

// y: [rows, hidden] -> logits over the draft vocabulary [rows, draft_vocab].
template <Eagle3Ops Ops>
typename Ops::Value eagle3_logits(
    Ops& ops, const Eagle3Parameters<typename Ops::Weight>& weights, const typename Ops::Value& y
) {
  return ops.linear(ops.rms_norm(y, weights.norm), weights.lm_head);
}

}  // namespace hone
