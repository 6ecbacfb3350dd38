#include "runtime/op/attention.h"

#include <algorithm>
#include <vector>

#include "core/base/error.h"
#include "core/base/threads.h"
#include "runtime/op/cpu/kernels.h"
#include "runtime/op/cpu/scratch.h"

namespace hone {
namespace {

// Multiplications that are worth a thread of their own.
constexpr int64_t kThreadWork = 1 << 16;
constexpr int64_t kMaxHeadDim = 1024;

thread_local cpu::Scratch t_scratch;

// Consecutive rows of one sequence, whose queries of one KV head form one kernel call.
struct RowBlock {
  int64_t begin;
  int64_t end;
};

void check_geometry(const AttentionArgs& args, size_t q, size_t out) {
  require(
      args.heads > 0 && args.kv_heads > 0 && args.heads % args.kv_heads == 0,
      "attention: {} heads over {} KV heads, expected a multiple",
      args.heads,
      args.kv_heads
  );
  require(
      args.head_dim > 0 && args.head_dim <= kMaxHeadDim,
      "attention: head_dim is {}, expected 1 to {}",
      args.head_dim,
      kMaxHeadDim
  );
  require(
      args.page_tokens > 0 && args.page_tokens % kAttentionTile == 0,
      "attention: pages of {} tokens, expected a multiple of {}",
      args.page_tokens,
      kAttentionTile
  );
  require(args.scale > 0, "attention: scale is {}, expected a positive number", args.scale);
  const size_t expected =
      args.rows.size() * static_cast<size_t>(args.heads) * static_cast<size_t>(args.head_dim);
  require(
      q == expected && out == expected,
      "attention: q has {} and out {} elements, expected {} rows x {} heads x {}",
      q,
      out,
      args.rows.size(),
      args.heads,
      args.head_dim
  );
}

void check_rows(const AttentionArgs& args) {
  for (size_t r = 0; r < args.rows.size(); ++r) {
    const AttentionRow& row = args.rows[r];
    require(
        row.sequence >= 0 && row.sequence < static_cast<int64_t>(args.sequences.size()),
        "attention: row {} names sequence {} of {}",
        r,
        row.sequence,
        args.sequences.size()
    );
    const AttentionKv& kv = args.sequences[static_cast<size_t>(row.sequence)];
    const size_t pages = std::min(kv.key_pages.size(), kv.value_pages.size());
    const int64_t slots = static_cast<int64_t>(pages) * args.page_tokens;
    require(
        row.prefix >= 0 && row.prefix <= slots && (row.prefix > 0 || !row.path.empty()),
        "attention: row {} sees a prefix of {} and a path of {} keys; its sequence has {} slots",
        r,
        row.prefix,
        row.path.size(),
        slots
    );
    for (const int64_t slot : row.path) {
      require(
          slot >= 0 && slot < slots,
          "attention: slot {} in the path of row {} lies outside the sequence's {} slots",
          slot,
          r,
          slots
      );
    }
  }
}

std::vector<RowBlock> row_blocks(std::span<const AttentionRow> rows, int64_t most) {
  std::vector<RowBlock> blocks;
  for (size_t r = 0; r < rows.size(); ++r) {
    const auto row = static_cast<int64_t>(r);
    const bool extends = !blocks.empty() && rows[r].sequence == rows[r - 1].sequence &&
                         row - blocks.back().begin < most;
    if (extends) {
      blocks.back().end = row + 1;
    } else {
      blocks.push_back({row, row + 1});
    }
  }
  return blocks;
}

class Attention {
 public:
  Attention(const AttentionArgs& args, const float* q, float* out)
      : args_(args), q_(q), out_(out), group_(args.heads / args.kv_heads) {}

  void run() const {
    const std::vector<RowBlock> blocks =
        row_blocks(args_.rows, std::max<int64_t>(1, cpu::kAttentionQueries / group_));
    const auto items = static_cast<int64_t>(blocks.size()) * args_.kv_heads;
    const int64_t grain = std::clamp<int64_t>(kThreadWork * items / total_work(), 1, items);
    ThreadPool::global().parallel_for(items, grain, [&](int64_t begin, int64_t end) {
      for (int64_t item = begin; item < end; ++item) {
        run_block(blocks[item / args_.kv_heads], item % args_.kv_heads);
      }
    });
  }

 private:
  [[nodiscard]] int64_t total_work() const {
    int64_t keys = 0;
    for (const AttentionRow& row : args_.rows) {
      keys += row.prefix + static_cast<int64_t>(row.path.size());
    }
    return keys * args_.heads * args_.head_dim * 2;
  }

  void run_block(const RowBlock& block, int64_t kv_head) const {
    std::vector<cpu::AttentionQuery> queries;
    queries.reserve(static_cast<size_t>((block.end - block.begin) * group_));
    for (int64_t r = block.begin; r < block.end; ++r) {
      const AttentionRow& row = args_.rows[r];
      for (int64_t h = 0; h < group_; ++h) {
        const int64_t offset = (r * args_.heads + kv_head * group_ + h) * args_.head_dim;
        queries.push_back(
            {q_ + offset,
             out_ + offset,
             row.prefix,
             row.path.data(),
             static_cast<int64_t>(row.path.size())}
        );
      }
    }
    const AttentionKv& kv = args_.sequences[static_cast<size_t>(args_.rows[block.begin].sequence)];
    cpu::AttentionCall call;
    call.key_pages = kv.key_pages.data();
    call.value_pages = kv.value_pages.data();
    call.page_tokens = args_.page_tokens;
    call.head_offset = kv_head * args_.page_tokens * args_.head_dim;
    call.head_dim = args_.head_dim;
    call.scale = args_.scale;
    const int64_t padded = (args_.head_dim + 15) / 16 * 16;
    // A group wider than one call (many heads on one KV head) is cut.
    for (size_t first = 0; first < queries.size(); first += cpu::kAttentionQueries) {
      call.queries = queries.data() + first;
      call.count =
          std::min<int64_t>(cpu::kAttentionQueries, static_cast<int64_t>(queries.size() - first));
      call.scratch = t_scratch.get(call.count * (padded + kAttentionTile));
      cpu::kernels().attention(call);
    }
  }

  const AttentionArgs& args_;
  const float* q_;
  float* out_;
  int64_t group_;
};

}  // namespace

void attention(const AttentionArgs& args, std::span<const float> q, std::span<float> out) {
  check_geometry(args, q.size(), out.size());
  check_rows(args);
  if (!args.rows.empty()) Attention(args, q.data(), out.data()).run();
}

}  // namespace hone
