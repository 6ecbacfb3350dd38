// Llama's forward pass as its definition reads, in double, one token at a time, no cache.
#pragma once

#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/format/load.h"
#include "core/io/checkpoint.h"
#include "core/io/dialect.h"
#include "runtime/model/config.h"

namespace hone::reference {

// Logits of every token, and for each the norm product that bounds their rounding errors:
// |final normed hidden| * max over rows of |lm_head row|.
struct LlamaResult {
  std::vector<std::vector<double>> logits;
  std::vector<double> norm;
};

class Llama {
 public:
  explicit Llama(const std::filesystem::path& folder)
      : checkpoint_(Checkpoint::open(folder)),
        config_(ModelConfig::parse(checkpoint_->config(), "config.json")),
        dialect_(detect_dialect(*checkpoint_)) {
    if (dialect_ != nullptr) quantized_ = dialect_->modules(*checkpoint_);
  }

  // parents: as SequenceInput::parents, over all tokens; empty: a chain.
  [[nodiscard]] LlamaResult forward(
      std::span<const int32_t> tokens, std::span<const int32_t> parents = {}
  ) const {
    const size_t n = tokens.size();
    std::vector<std::vector<size_t>> visible(n);  // ancestors and self, in order
    for (size_t t = 0; t < n; ++t) {
      const int64_t parent =
          parents.empty() ? static_cast<int64_t>(t) - 1 : static_cast<int64_t>(parents[t]);
      if (parent >= 0) visible[t] = visible[static_cast<size_t>(parent)];
      visible[t].push_back(t);
    }
    const auto width = static_cast<size_t>(config_.hidden);
    const std::vector<double> embedding = tensor("model.embed_tokens.weight");
    std::vector<std::vector<double>> hidden(n);
    for (size_t t = 0; t < n; ++t) {
      const auto row = embedding.begin() + static_cast<ptrdiff_t>(tokens[t]) * config_.hidden;
      hidden[t].assign(row, row + config_.hidden);
    }
    for (int64_t layer = 0; layer < config_.layers; ++layer)
      run_layer("model.layers." + std::to_string(layer) + ".", visible, hidden);
    const std::vector<double> head =
        tensor(config_.tied_embeddings ? "model.embed_tokens.weight" : "lm_head.weight");
    double row_norm = 0;
    for (size_t i = 0; i < head.size(); i += width) {
      double sum = 0;
      for (size_t k = 0; k < width; ++k) sum += head[i + k] * head[i + k];
      row_norm = std::max(row_norm, std::sqrt(sum));
    }
    LlamaResult result;
    const std::vector<double> final_norm = tensor("model.norm.weight");
    for (size_t t = 0; t < n; ++t) {
      const std::vector<double> x = normed(hidden[t], final_norm);
      double sum = 0;
      for (const double value : x) sum += value * value;
      result.norm.push_back(std::sqrt(sum) * row_norm);
      result.logits.push_back(multiply(head, x));
    }
    return result;
  }

 private:
  // Any tensor; the weight of a quantized module decoded.
  [[nodiscard]] std::vector<double> tensor(const std::string& name) const {
    const std::string module = name.substr(0, name.size() - std::string(".weight").size());
    std::vector<float> values;
    if (std::find(quantized_.begin(), quantized_.end(), module) != quantized_.end() &&
        name.ends_with(".weight")) {
      const QuantizedTensor q = dialect_->read(*checkpoint_, module);
      values.resize(static_cast<size_t>(q.rows * q.cols));
      dequantize_rows(q, 0, q.rows, values.data());
    } else {
      const TensorView view = checkpoint_->tensor(name);
      values.resize(static_cast<size_t>(view.numel()));
      load_floats(view.type, view.data, view.numel(), values.data());
    }
    return {values.begin(), values.end()};
  }

  static std::vector<double> multiply(const std::vector<double>& w, const std::vector<double>& x) {
    std::vector<double> y(w.size() / x.size());
    for (size_t i = 0; i < y.size(); ++i) {
      for (size_t k = 0; k < x.size(); ++k) y[i] += w[i * x.size() + k] * x[k];
    }
    return y;
  }

  [[nodiscard]] std::vector<double> linear(
      const std::string& module, const std::vector<double>& x, bool bias
  ) const {
    std::vector<double> y = multiply(tensor(module + ".weight"), x);
    if (!bias) return y;
    const std::vector<double> b = tensor(module + ".bias");
    for (size_t i = 0; i < y.size(); ++i) y[i] += b[i];
    return y;
  }

  [[nodiscard]] std::vector<double> normed(
      const std::vector<double>& x, const std::vector<double>& weight
  ) const {
    double sum = 0;
    for (const double value : x) sum += value * value;
    const double scale = 1.0 / std::sqrt(sum / static_cast<double>(x.size()) + config_.rms_eps);
    std::vector<double> y(x.size());
    for (size_t i = 0; i < x.size(); ++i) y[i] = x[i] * scale * weight[i];
    return y;
  }

  void rotate(std::vector<double>& x, size_t position) const {
    const auto dim = static_cast<size_t>(config_.head_dim);
    const std::vector<double> f = config_.rope.inverse_frequencies(config_.head_dim);
    for (size_t head = 0; head < x.size(); head += dim) {
      for (size_t i = 0; i < dim / 2; ++i) {
        const double angle = static_cast<double>(position) * f[i];
        const double a = x[head + i];
        const double b = x[head + i + dim / 2];
        x[head + i] = a * std::cos(angle) - b * std::sin(angle);
        x[head + i + dim / 2] = b * std::cos(angle) + a * std::sin(angle);
      }
    }
  }

  void run_layer(
      const std::string& prefix,
      const std::vector<std::vector<size_t>>& visible,
      std::vector<std::vector<double>>& hidden
  ) const {
    const size_t n = hidden.size();
    const auto dim = static_cast<size_t>(config_.head_dim);
    const auto group = static_cast<size_t>(config_.heads / config_.kv_heads);
    std::vector<std::vector<double>> q(n);
    std::vector<std::vector<double>> k(n);
    std::vector<std::vector<double>> v(n);
    for (size_t t = 0; t < n; ++t) {
      const auto x = normed(hidden[t], tensor(prefix + "input_layernorm.weight"));
      q[t] = linear(prefix + "self_attn.q_proj", x, config_.attention_bias);
      k[t] = linear(prefix + "self_attn.k_proj", x, config_.attention_bias);
      v[t] = linear(prefix + "self_attn.v_proj", x, config_.attention_bias);
      rotate(q[t], visible[t].size() - 1);
      rotate(k[t], visible[t].size() - 1);
    }
    for (size_t t = 0; t < n; ++t) {
      std::vector<double> mixed(q[t].size());
      for (size_t head = 0; head < static_cast<size_t>(config_.heads); ++head) {
        std::vector<double> weight;
        double total = 0;
        for (const size_t s : visible[t]) {
          double score = 0;
          for (size_t d = 0; d < dim; ++d)
            score += q[t][head * dim + d] * k[s][head / group * dim + d];
          weight.push_back(std::exp(score / std::sqrt(static_cast<double>(dim))));
          total += weight.back();
        }
        for (size_t i = 0; i < weight.size(); ++i) {
          for (size_t d = 0; d < dim; ++d)
            mixed[head * dim + d] += weight[i] / total * v[visible[t][i]][head / group * dim + d];
        }
      }
      add(linear(prefix + "self_attn.o_proj", mixed, config_.attention_bias), hidden[t]);
    }
    for (size_t t = 0; t < n; ++t) {
      const auto x = normed(hidden[t], tensor(prefix + "post_attention_layernorm.weight"));
      std::vector<double> gate = linear(prefix + "mlp.gate_proj", x, config_.mlp_bias);
      const std::vector<double> up = linear(prefix + "mlp.up_proj", x, config_.mlp_bias);
      for (size_t i = 0; i < gate.size(); ++i)
        gate[i] = gate[i] / (1.0 + std::exp(-gate[i])) * up[i];
      add(linear(prefix + "mlp.down_proj", gate, config_.mlp_bias), hidden[t]);
    }
  }

  static void add(const std::vector<double>& x, std::vector<double>& y) {
    for (size_t i = 0; i < x.size(); ++i) y[i] += x[i];
  }

  std::shared_ptr<const Checkpoint> checkpoint_;
  ModelConfig config_;
  const Dialect* dialect_;
  std::vector<std::string> quantized_;
};

}  // namespace hone::reference
