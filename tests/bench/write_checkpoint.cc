// Writes a Llama-shaped BF16 checkpoint of about the given size, for measurements: normal weights
// from a repeated table, so that writing it takes seconds.
//
//   bench_write_checkpoint FOLDER GIGABYTES
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>

#include "core/base/rng.h"
#include "core/io/checkpoint.h"

namespace hone {
namespace {

constexpr int64_t kHidden = 4096;
constexpr int64_t kIntermediate = 14336;
constexpr int64_t kKeyValue = 1024;
constexpr int64_t kVocab = 32000;
constexpr size_t kTable = 1 << 20;

std::vector<std::byte> normal_table() {
  std::vector<std::byte> table(2 * kTable);
  Rng rng(1);
  for (size_t i = 0; i < kTable; ++i) {
    const auto value = static_cast<float>(0.02 * rng.normal());
    uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    const auto upper = static_cast<uint16_t>(bits >> 16);
    std::memcpy(table.data() + 2 * i, &upper, sizeof upper);
  }
  return table;
}

std::vector<TensorSpec> specs(double gigabytes) {
  std::vector<TensorSpec> list;
  int64_t bytes = 0;
  const auto add = [&](const std::string& name, Shape shape) {
    bytes += 2 * shape.numel();
    list.push_back({name + ".weight", DType::kBF16, std::move(shape)});
  };
  add("model.embed_tokens", {kVocab, kHidden});
  add("lm_head", {kVocab, kHidden});
  add("model.norm", {kHidden});
  for (int layer = 0; static_cast<double>(bytes) < gigabytes * 1e9; ++layer) {
    const std::string p = "model.layers." + std::to_string(layer) + ".";
    add(p + "input_layernorm", {kHidden});
    add(p + "self_attn.q_proj", {kHidden, kHidden});
    add(p + "self_attn.k_proj", {kKeyValue, kHidden});
    add(p + "self_attn.v_proj", {kKeyValue, kHidden});
    add(p + "self_attn.o_proj", {kHidden, kHidden});
    add(p + "post_attention_layernorm", {kHidden});
    add(p + "mlp.gate_proj", {kIntermediate, kHidden});
    add(p + "mlp.up_proj", {kIntermediate, kHidden});
    add(p + "mlp.down_proj", {kHidden, kIntermediate});
  }
  return list;
}

void write(const char* folder, double gigabytes) {
  const std::vector<std::byte> table = normal_table();
  const std::vector<TensorSpec> list = specs(gigabytes);
  CheckpointWriter writer(folder, list, {1'000'000'000});
  size_t at = 0;
  for (const TensorSpec& spec : list) {
    auto left = static_cast<size_t>(byte_size(spec.type, spec.shape));
    while (left > 0) {
      // Odd starting points, so that neighbouring rows differ.
      at = (at + 2 * 7919) % table.size();
      const size_t n = std::min(left, table.size() - at);
      writer.append(spec.name, std::span(table).subspan(at, n));
      left -= n;
    }
  }
  writer.write_json(
      "config.json", {{"architectures", {"LlamaForCausalLM"}}, {"model_type", "llama"}}
  );
  writer.commit();
}

}  // namespace
}  // namespace hone

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: %s FOLDER GIGABYTES\n", argv[0]);
    return 2;
  }
  try {
    hone::write(argv[1], std::atof(argv[2]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
