// Readers of hostile files, each as a function over the bytes that a fuzzer invents. They return
// whether the input was taken as valid; hone::Error is a refusal, anything else thrown is a bug.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hone {

// The bytes are a safetensors file.
bool fuzz_safetensors(const uint8_t* data, size_t size);
// The bytes are the model.safetensors.index.json of a checkpoint with two shards "a.safetensors"
// (tensor "a") and "b.safetensors" (tensor "b").
bool fuzz_index(const uint8_t* data, size_t size);
// The bytes are config.json, NUL, hf_quant_config.json (empty: no such file), NUL, a safetensors
// header, NUL, tensor data.
bool fuzz_dialect(const uint8_t* data, size_t size);

}  // namespace hone
