// A tape for reverse-mode differentiation over float32 matrices.
//
// Operations (ops.h, transformer_ops.h, ttt_attention.h, soft_cross_entropy.h) compute their value
// at once and push one node; backward() walks the nodes in reverse. Everything is [rows, cols],
// row-major. Results are bit-identical for every number of threads: work is cut into pieces of
// fixed size, and each sum has one fixed order.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <span>
#include <vector>

#include "core/base/threads.h"
#include "speculator/autograd/arena.h"

namespace hone {

// A matrix on a tape; valid until the tape's reset().
struct Var {
  int32_t id = -1;
};

// Where an operation's backward puts the gradient of one input.
struct GradSink {
  float* data = nullptr;    // [rows, cols]
  bool accumulate = false;  // add to what is there; otherwise the memory holds garbage: assign
};

// One thread owns a tape; operations run on the global pool.
class Tape {
 public:
  // Borrowed memory that outlives the tape's use of it. No gradient.
  Var constant(const float* data, int64_t rows, int64_t cols);
  // Borrowed weights; backward() adds to `grad` [rows, cols].
  Var parameter(const float* data, float* grad, int64_t rows, int64_t cols);

  [[nodiscard]] int64_t rows(Var x) const { return node(x).rows; }
  [[nodiscard]] int64_t cols(Var x) const { return node(x).cols; }
  [[nodiscard]] int64_t size(Var x) const { return node(x).rows * node(x).cols; }
  [[nodiscard]] const float* value(Var x) const { return node(x).value; }
  [[nodiscard]] std::span<const float> values(Var x) const {
    return {node(x).value, static_cast<size_t>(size(x))};
  }
  [[nodiscard]] bool needs_grad(Var x) const { return node(x).needs_grad; }

  // Fills the gradients of all parameters that `loss` [1, 1] depends on. Values and gradients of
  // inner nodes are released on the way: only parameters, constants and `loss` stay readable.
  // Call at most once between resets.
  void backward(Var loss);
  // Forgets all nodes; their memory is used again.
  void reset();
  // Without recording, operations keep no backward (evaluation).
  void set_recording(bool on) { recording_ = on; }

  [[nodiscard]] static ThreadPool& pool() { return ThreadPool::global(); }
  [[nodiscard]] int64_t memory_bytes() const { return arena_.bytes(); }

  // For operations.
  // A new node whose value is to be filled through mutable_value(); it needs a gradient when one of
  // `inputs` does.
  Var make(int64_t rows, int64_t cols, std::initializer_list<Var> inputs);
  Var make(int64_t rows, int64_t cols, const std::vector<Var>& inputs);
  float* mutable_value(Var x) { return node(x).value; }
  std::span<float> mutable_values(Var x) { return {node(x).value, static_cast<size_t>(size(x))}; }
  // Called by backward() when a gradient has reached `output`.
  void set_backward(Var output, std::function<void()> function);
  // The gradient that has reached `output`.
  [[nodiscard]] const float* grad(Var output) const { return node(output).grad; }
  [[nodiscard]] std::span<const float> grads(Var output) const {
    return {node(output).grad, static_cast<size_t>(size(output))};
  }
  // Where to put the gradient of `input`; data is null when it needs none.
  GradSink sink(Var input);
  // As sink(), in the value's own memory: for the only consumer of `input`, after its last read.
  GradSink sink_in_place(Var input);
  // For kernels that can only assign: `kernel` fills a span that becomes, or is added to, the
  // gradient of `input`. Not called when it needs none.
  void send(Var owner, Var input, const std::function<void(std::span<float>)>& kernel);
  // Scratch that lives until reset() or, with backward(), until the node of `owner` is done.
  float* scratch(Var owner, int64_t count);

 private:
  struct Node {
    int64_t rows = 0;
    int64_t cols = 0;
    float* value = nullptr;
    float* grad = nullptr;
    bool needs_grad = false;
    bool owned = false;      // value is from the arena
    bool parameter = false;  // grad is foreign
    std::function<void()> backward;
    std::vector<float*> scratch;
  };
  [[nodiscard]] const Node& node(Var x) const { return nodes_[static_cast<size_t>(x.id)]; }
  Node& node(Var x) { return nodes_[static_cast<size_t>(x.id)]; }
  void release(Node& done);

  Arena arena_;
  std::vector<Node> nodes_;
  bool recording_ = true;
};

}  // namespace hone
