// What one forward call hands to the blocks of every layer.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "runtime/cache/kv_cache.h"
#include "runtime/model/config.h"
#include "runtime/model/linear.h"
#include "runtime/op/attention.h"
#include "runtime/op/rope.h"

namespace hone {

// Where a row's K and V are stored.
struct RowPlace {
  size_t sequence = 0;  // index into BlockContext::sequences
  int64_t slot = 0;
};

// Buffers that live from call to call, so that decoding allocates nothing.
struct Workspace {
  std::vector<float> quantized;
  std::vector<float> normed;
  std::vector<float> delta;
  std::vector<float> q;
  std::vector<float> k;
  std::vector<float> v;
  std::vector<float> gate;
  std::vector<float> up;
  std::vector<const float*> pages;
  std::vector<AttentionKv> kv;
};

// Rows are the new tokens of all sequences, in input order.
struct BlockContext {
  const ModelConfig& config;
  int64_t rows = 0;
  int64_t layer = 0;
  const RopeRows& rope;
  std::span<KvSequence* const> sequences;
  std::span<const RowPlace> places;         // [rows]
  std::span<const AttentionRow> attention;  // [rows]
  LinearCall call;
  Workspace& workspace;
};

}  // namespace hone
