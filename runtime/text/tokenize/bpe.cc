#include "runtime/text/tokenize/bpe.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/base/error.h"
#include "runtime/text/tokenize/byte_level.h"
#include "runtime/text/unicode/utf8.h"

namespace hone {
namespace {

constexpr int32_t kMaxId = (1 << 26) - 1;  // ids index tables: a stray huge id must not allocate
constexpr size_t kFewSymbols = 40;         // below, scanning an array beats a heap

enum : uint8_t { kUnknown = 0, kWhole = 1, kParts = 2 };

}  // namespace

BpeModel::BpeModel(
    BpeOptions options,
    const std::vector<std::pair<std::string_view, int32_t>>& vocabulary,
    const std::vector<MergeText>& merges,
    const std::string& source
)
    : options_(std::move(options)) {
  size_t bytes = 0;
  int32_t largest = -1;
  for (const auto& [token, id] : vocabulary) {
    require_data(
        id >= 0 && id <= kMaxId,
        "{}: id {} of token {:?} is out of range (0 to {})",
        source,
        id,
        token,
        kMaxId
    );
    bytes += token.size();
    largest = std::max(largest, id);
  }
  storage_.reserve(bytes);  // no reallocation: text_ points into it
  text_.resize(largest + 1);
  tokens_.reserve(vocabulary.size(), bytes);
  if (options_.raw_bytes) raw_tokens_.reserve(vocabulary.size(), bytes);
  for (const auto& [token, id] : vocabulary) {
    const size_t at = storage_.size();
    storage_ += token;
    text_[id] = std::string_view(storage_).substr(at, token.size());
    tokens_.add(token, id);
    if (options_.raw_bytes) {
      if (const auto raw = byte_level_decode(token)) raw_tokens_.add(*raw, id);
    }
  }
  if (options_.unk_token) {
    unk_id_ = tokens_.find(*options_.unk_token);
    require_data(
        unk_id_ >= 0, "{}: unk_token {:?} is not in the vocabulary", source, *options_.unk_token
    );
  }
  for (int b = 0; b < 256; ++b) {
    if (options_.raw_bytes) {
      const char byte = static_cast<char>(b);
      byte_ids_[b] = raw_tokens_.find({&byte, 1});
    } else {
      byte_ids_[b] = tokens_.find(fmt::format("<0x{:02X}>", b));
    }
  }
  load_merges(merges, source);
  whole_ = std::vector<std::atomic<uint8_t>>(text_.size());
}

void BpeModel::load_merges(const std::vector<MergeText>& merges, const std::string& source) {
  merges_.reserve(merges.size());
  const size_t prefix = options_.continuing_subword_prefix.size();
  std::string joined;
  for (size_t rank = 0; rank < merges.size(); ++rank) {
    const auto [left, right] = merges[rank];
    const int32_t left_id = tokens_.find(left);
    const int32_t right_id = tokens_.find(right);
    joined.assign(left);
    if (right.size() >= prefix) joined += right.substr(prefix);
    const int32_t id = tokens_.find(joined);
    require_data(
        left_id >= 0 && right_id >= 0 && id >= 0,
        "{}: merge {} ({:?} {:?}): token {:?} is not in the vocabulary",
        source,
        rank,
        left,
        right,
        left_id < 0    ? left
        : right_id < 0 ? right
                       : std::string_view(joined)
    );
    merges_.add(left_id, right_id, {static_cast<uint32_t>(rank), id});
  }
}

std::string_view BpeModel::token(int32_t id) const {
  return id >= 0 && id < size() ? text_[id] : std::string_view();
}

// One symbol per byte.
void BpeModel::start_raw_symbols(std::string_view piece, BpeScratch& scratch) const {
  auto& symbols = scratch.symbols_;
  symbols.clear();
  uint32_t unknown = 0;  // bytes of the pending unknown token
  const auto flush = [&] {
    if (unknown > 0) symbols.push_back({unk_id_, unknown, 0, 0});
    unknown = 0;
  };
  for (const char c : piece) {
    const int32_t id = byte_ids_[static_cast<uint8_t>(c)];
    if (id >= 0) {
      flush();
      symbols.push_back({id, 1, 0, 0});
    } else if (unk_id_ >= 0) {
      if (!options_.fuse_unk) flush();
      ++unknown;
    }
  }
  flush();
}

// One symbol per character; unknown ones become bytes or the unknown token.
void BpeModel::start_symbols(std::string_view piece, BpeScratch& scratch) const {
  auto& symbols = scratch.symbols_;
  symbols.clear();
  uint32_t unknown = 0;
  const auto flush = [&] {
    if (unknown > 0) symbols.push_back({unk_id_, unknown, 0, 0});
    unknown = 0;
  };
  const bool affixes =
      !options_.continuing_subword_prefix.empty() || !options_.end_of_word_suffix.empty();
  for (size_t at = 0; at < piece.size();) {
    const uint32_t size = utf8_size(piece[at]);
    std::string_view text = piece.substr(at, size);
    const size_t begin = at;
    at += size;
    if (affixes) {
      scratch.key_.clear();
      if (begin > 0) scratch.key_ += options_.continuing_subword_prefix;
      scratch.key_ += text;
      if (at >= piece.size()) scratch.key_ += options_.end_of_word_suffix;
      text = scratch.key_;
    }
    if (const int32_t id = tokens_.find(text); id >= 0) {
      flush();
      symbols.push_back({id, size, 0, 0});
      continue;
    }
    if (options_.byte_fallback) {
      const bool all = std::ranges::all_of(text, [&](char c) {
        return byte_ids_[static_cast<uint8_t>(c)] >= 0;
      });
      if (all) {  // a pending unknown stays pending, as in the reference
        for (const char c : text) {
          symbols.push_back({byte_ids_[static_cast<uint8_t>(c)], 1, 0, 0});
        }
        continue;
      }
    }
    if (unk_id_ >= 0) {
      if (!options_.fuse_unk) flush();
      unknown += size;
    }
  }
  flush();
}

// Symbols side by side in an array; ranks_[i] is the rank of the pair (i, i + 1).
void BpeModel::merge_few(BpeScratch& scratch) const {
  auto& symbols = scratch.symbols_;
  auto& ranks = scratch.ranks_;
  size_t count = symbols.size();
  if (count < 2) return;
  ranks.resize(count);
  const auto rank_of = [&](size_t i) {
    return i + 1 < count ? merges_.find(symbols[i].id, symbols[i + 1].id).rank : MergeTable::kNone;
  };
  for (size_t i = 0; i < count; ++i) ranks[i] = rank_of(i);
  while (true) {
    size_t best = 0;
    for (size_t i = 1; i + 1 < count; ++i) {
      if (ranks[i] < ranks[best]) best = i;
    }
    if (ranks[best] == MergeTable::kNone) break;
    symbols[best].id = merges_.find(symbols[best].id, symbols[best + 1].id).id;
    symbols[best].size += symbols[best + 1].size;
    const auto gap = static_cast<std::ptrdiff_t>(best + 1);
    std::move(
        symbols.begin() + gap + 1,
        symbols.begin() + static_cast<std::ptrdiff_t>(count),
        symbols.begin() + gap
    );
    std::move(
        ranks.begin() + gap + 1,
        ranks.begin() + static_cast<std::ptrdiff_t>(count),
        ranks.begin() + gap
    );
    --count;
    ranks[best] = rank_of(best);
    if (best > 0) ranks[best - 1] = rank_of(best - 1);
    if (count < 2) break;
  }
  symbols.resize(count);
}

void BpeModel::push_candidate(BpeScratch& scratch, int32_t left) const {
  const auto& symbols = scratch.symbols_;
  const Merge merge = merges_.find(symbols[left].id, symbols[symbols[left].next].id);
  if (merge.rank == MergeTable::kNone) return;
  scratch.heap_.push_back(
      {static_cast<uint64_t>(merge.rank) << 32 | static_cast<uint32_t>(left), merge.id}
  );
}

// A linked list of symbols and a heap of merges: n log n for any piece.
void BpeModel::merge_many(BpeScratch& scratch) const {
  auto& symbols = scratch.symbols_;
  auto& heap = scratch.heap_;
  const auto count = static_cast<int32_t>(symbols.size());
  for (int32_t i = 0; i < count; ++i) {
    symbols[i].previous = i - 1;
    symbols[i].next = i + 1 < count ? i + 1 : -1;
  }
  heap.clear();
  for (int32_t i = 0; i + 1 < count; ++i) push_candidate(scratch, i);
  const auto later = [](const BpeScratch::Candidate& a, const BpeScratch::Candidate& b) {
    return a.order > b.order;
  };
  std::ranges::make_heap(heap, later);
  const auto push = [&](int32_t left) {
    const size_t before = heap.size();
    push_candidate(scratch, left);
    if (heap.size() > before) std::ranges::push_heap(heap, later);
  };
  while (!heap.empty()) {
    const BpeScratch::Candidate top = heap.front();
    std::ranges::pop_heap(heap, later);
    heap.pop_back();
    const auto at = static_cast<int32_t>(top.order & UINT32_MAX);
    auto& left = symbols[at];
    if (left.size == 0 || left.next < 0) continue;  // gone, or last
    auto& right = symbols[left.next];
    if (merges_.find(left.id, right.id).id != top.id) continue;  // the pair has changed
    left.id = top.id;
    left.size += right.size;
    right.size = 0;
    left.next = right.next;
    if (left.next >= 0) symbols[left.next].previous = at;
    if (left.previous >= 0) push(left.previous);
    if (left.next >= 0) push(at);
  }
  std::erase_if(symbols, [](const BpeScratch::Symbol& s) { return s.size == 0; });
}

void BpeModel::run(std::string_view piece, BpeScratch& scratch) const {
  if (options_.raw_bytes) {
    start_raw_symbols(piece, scratch);
  } else {
    start_symbols(piece, scratch);
  }
  if (scratch.symbols_.size() <= kFewSymbols) {
    merge_few(scratch);
  } else {
    merge_many(scratch);
  }
}

void BpeModel::encode(
    std::string_view piece,
    BpeScratch& scratch,
    std::vector<int32_t>& ids,
    std::vector<uint32_t>* sizes
) const {
  const uint64_t hash = hash_bytes(piece);
  const int32_t own = piece.size() <= pieces().longest() ? pieces().find(piece, hash) : -1;
  if (own >= 0 &&
      (options_.ignore_merges || whole_[own].load(std::memory_order_relaxed) == kWhole)) {
    ids.push_back(own);
    if (sizes != nullptr) sizes->push_back(static_cast<uint32_t>(piece.size()));
    return;
  }
  const bool cached = sizes == nullptr && piece.size() <= WordCache::kLongestWord;
  if (cached) {
    scratch.cache_.bind(this);
    const auto known = scratch.cache_.find(piece, hash);
    if (!known.empty()) {
      ids.insert(ids.end(), known.begin(), known.end());
      return;
    }
  }
  run(piece, scratch);
  const auto& symbols = scratch.symbols_;
  const size_t first = ids.size();
  for (const auto& symbol : symbols) ids.push_back(symbol.id);
  if (sizes != nullptr) {
    for (const auto& symbol : symbols) sizes->push_back(symbol.size);
  }
  if (own >= 0) {
    const bool whole = symbols.size() == 1 && symbols[0].id == own;
    whole_[own].store(whole ? kWhole : kParts, std::memory_order_relaxed);
    if (whole) return;
  }
  if (cached) scratch.cache_.add(piece, hash, {ids.data() + first, ids.size() - first});
}

}  // namespace hone
