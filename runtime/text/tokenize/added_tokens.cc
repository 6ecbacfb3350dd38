#include "runtime/text/tokenize/added_tokens.h"

#include <algorithm>

#include "runtime/text/unicode/utf8.h"

namespace hone {
namespace {

bool word_before(std::string_view text, size_t at) {
  return at > 0 && is_word(utf8_decode(text, utf8_previous(text, at)).value);
}

bool word_after(std::string_view text, size_t at) {
  return at < text.size() && is_word(utf8_decode(text, at).value);
}

}  // namespace

bool SpecialRule::refuses(size_t begin, size_t end) const {
  if (plain.empty()) return false;
  const size_t first = base + (source == nullptr ? begin : source[begin]);
  const size_t last = base + (source == nullptr ? end - 1 : source[end - 1]);
  const auto range =
      std::ranges::upper_bound(plain, first, {}, [](const auto& span) { return span.second; });
  return range != plain.end() && range->first <= last;
}

void TokenTrie::add(std::string_view text, int32_t value) {
  if (text.empty()) return;
  starts_[static_cast<uint8_t>(text[0])] = true;
  int32_t node = 0;
  for (const char c : text) {
    const auto byte = static_cast<uint8_t>(c);
    auto& edges = nodes_[node].edges;
    const auto edge = std::ranges::find(edges, byte, &Edge::byte);
    if (edge != edges.end()) {
      node = edge->node;
      continue;
    }
    const auto next = static_cast<int32_t>(nodes_.size());
    edges.push_back({byte, next});
    nodes_.emplace_back();
    node = next;
  }
  if (nodes_[node].value < 0) nodes_[node].value = value;  // the first of equal strings
}

void TokenTrie::finish() {
  for (Node& node : nodes_) std::ranges::sort(node.edges, {}, &Edge::byte);
}

TokenTrie::Hit TokenTrie::longest(std::string_view text, size_t at) const {
  Hit hit;
  int32_t node = 0;
  for (size_t i = at; i < text.size(); ++i) {
    const auto& edges = nodes_[node].edges;
    const auto byte = static_cast<uint8_t>(text[i]);
    const auto edge = std::ranges::lower_bound(edges, byte, {}, &Edge::byte);
    if (edge == edges.end() || edge->byte != byte) break;
    node = edge->node;
    if (nodes_[node].value >= 0) hit = {nodes_[node].value, i + 1 - at};
  }
  return hit;
}

AddedTokens::AddedTokens(
    std::vector<AddedToken> tokens, const std::vector<std::string>& normalized_content
)
    : tokens_(std::move(tokens)) {
  for (size_t i = 0; i < tokens_.size(); ++i) {
    by_id_[tokens_[i].id] = i;
    if (tokens_[i].normalized) {
      normalized_.add(normalized_content[i], static_cast<int32_t>(i));
    } else {
      plain_.add(tokens_[i].content, static_cast<int32_t>(i));
    }
  }
  plain_.finish();
  normalized_.finish();
}

void AddedTokens::split(
    std::string_view text, bool normalized, const SpecialRule& rule, std::vector<TextPart>& out
) const {
  const TokenTrie& trie = normalized ? normalized_ : plain_;
  size_t done = 0;  // everything before is in `out`
  size_t at = 0;
  while (at < text.size()) {
    if (!trie.may_start(text[at])) {
      ++at;
      continue;
    }
    const TokenTrie::Hit hit = trie.longest(text, at);
    if (hit.value < 0) {
      ++at;
      continue;
    }
    const AddedToken& token = tokens_[hit.value];
    size_t begin = at;
    size_t end = at + hit.size;
    if (token.special && rule.refuses(begin, end)) {
      ++at;  // a trusted token may start inside what was refused
      continue;
    }
    at = end;
    if (token.special && rule.all_text) continue;
    if (token.single_word && (word_before(text, begin) || word_after(text, end))) continue;
    if (token.lstrip) {
      size_t start = begin;
      while (start > done) {
        const size_t previous = utf8_previous(text, start);
        if (!is_white_space(utf8_decode(text, previous).value)) break;
        start = previous;
      }
      begin = std::max(start, done);
    }
    if (token.rstrip) {
      while (end < text.size()) {
        const CodePoint c = utf8_decode(text, end);
        if (!is_white_space(c.value)) break;
        end += c.size;
      }
    }
    if (done < begin) out.push_back({done, begin, -1});
    out.push_back({begin, end, token.id});
    done = end;
  }
  if (done < text.size()) out.push_back({done, text.size(), -1});
}

const AddedToken* AddedTokens::find(int32_t id) const {
  const auto found = by_id_.find(id);
  return found == by_id_.end() ? nullptr : &tokens_[found->second];
}

const AddedToken* AddedTokens::find(std::string_view content) const {
  for (const AddedToken& token : tokens_) {
    if (token.content == content) return &token;
  }
  return nullptr;
}

}  // namespace hone
