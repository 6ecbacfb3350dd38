// Converts a checkpoint without choosing new codes: quantized weights to BF16, LoRA adapters
// merged, another shard size. Everything that is not asked for stays byte for byte.
//
// (New codes are quant/apply's business: block FP8 to NVFP4 is `hone quantize` on the FP8 folder;
// it decodes to float32 and never goes through BF16.)
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>

#include "core/io/checkpoint.h"
#include "quant/lora.h"

namespace hone {

struct ConvertOptions {
  bool to_bf16 = false;                       // decode what is stored quantized
  std::shared_ptr<const LoraAdapter> lora{};  // may be null
  int64_t max_shard_bytes = 5'000'000'000;
  int64_t slab_bytes = int64_t{8} << 20;
};

struct ConvertCounts {
  int64_t copied = 0;    // tensors, byte for byte
  int64_t decoded = 0;   // quantized modules that became BF16
  int64_t merged = 0;    // weights with a LoRA delta
  int64_t replaced = 0;  // modules_to_save of the adapter
  int64_t output_bytes = 0;
};

struct Conversion {
  std::unique_ptr<CheckpointWriter> writer;  // closed, not committed: the caller may add files
  ConvertCounts counts;
};

// Streams: memory is bounded by a few row slabs and the adapter. config.json loses its
// quantization_config when nothing quantized is left; side files come along, README.md and Hone's
// records do not (they speak of the source).
// Throws UsageError: an adapter of another model (module or shape named), a delta for a weight that
// is quantized without to_bf16, or for a head that is tied to the embedding; DataError: broken
// input, a merged weight that is not finite, a full disk; Cancelled. Nothing stays on the disk
// then.
Conversion convert_checkpoint(
    const Checkpoint& source, const std::filesystem::path& output, const ConvertOptions& options
);

}  // namespace hone
