#include "quant/select/glob.h"

#include <algorithm>
#include <charconv>
#include <optional>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr size_t kMostAlternatives = 10'000;

void require_few(const std::string& pattern, size_t count) {
  require(
      count <= kMostAlternatives,
      "pattern \"{}\": its braces stand for more than {} patterns",
      pattern,
      kMostAlternatives
  );
}

// The brace that closes the one at `open`.
size_t closing_brace(std::string_view text, size_t open) {
  int depth = 0;
  for (size_t i = open; i < text.size(); ++i) {
    if (text[i] == '{') ++depth;
    if (text[i] == '}' && --depth == 0) return i;
  }
  return std::string_view::npos;
}

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

// What stands between two braces: "a,b{c,d}" -> {"a", "b{c,d}"}; "0..3" -> {"0", ..., "3"}.
std::vector<std::string> options_of(const std::string& pattern, std::string_view inner) {
  const size_t dots = inner.find("..");
  if (dots != std::string_view::npos) {
    const auto first = number(inner.substr(0, dots));
    const auto last = number(inner.substr(dots + 2));
    if (first && last && *first >= 0 && *first <= *last) {
      require_few(pattern, static_cast<size_t>(*last - *first) + 1);
      std::vector<std::string> numbers;
      for (int64_t i = *first; i <= *last; ++i) numbers.push_back(std::to_string(i));
      return numbers;
    }
  }
  std::vector<std::string> options(1);
  int depth = 0;
  for (char c : inner) {
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (c == ',' && depth == 0) {
      options.emplace_back();
    } else {
      options.back() += c;
    }
  }
  return options;
}

void expand(const std::string& pattern, const std::string& text, std::vector<std::string>& out) {
  const size_t open = text.find('{');
  if (open == std::string::npos) {
    require_few(pattern, out.size() + 1);
    out.push_back(text);
    return;
  }
  const size_t close = closing_brace(text, open);
  require(close != std::string_view::npos, "pattern \"{}\": no }} for the {{", pattern);
  const std::string_view inner = std::string_view(text).substr(open + 1, close - open - 1);
  for (const std::string& option : options_of(pattern, inner)) {
    expand(pattern, text.substr(0, open) + option + text.substr(close + 1), out);
  }
}

struct Set {
  bool contains = false;
  size_t end = 0;  // index behind the ']'
};

// The set that starts at pattern[at] == '['; a ']' directly behind the opening counts as itself.
Set match_set(std::string_view pattern, size_t at, char c) {
  size_t i = at + 1;
  const bool negated = i < pattern.size() && (pattern[i] == '!' || pattern[i] == '^');
  if (negated) ++i;
  bool found = false;
  const size_t first = i;
  for (; i < pattern.size() && (pattern[i] != ']' || i == first); ++i) {
    if (i + 2 < pattern.size() && pattern[i + 1] == '-' && pattern[i + 2] != ']') {
      found = found || (pattern[i] <= c && c <= pattern[i + 2]);
      i += 2;
    } else {
      found = found || pattern[i] == c;
    }
  }
  return {found != negated, i + 1};
}

void require_closed_sets(const std::string& pattern, const std::string& text) {
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '[') continue;
    const Set set = match_set(text, i, '\0');
    require(set.end <= text.size(), "pattern \"{}\": no ] for the [", pattern);
    i = set.end - 1;
  }
}

// Greedy with one point of return: linear for patterns with one `*`, never exponential.
bool match(std::string_view pattern, std::string_view name) {
  size_t p = 0;
  size_t n = 0;
  size_t star = std::string_view::npos;
  size_t resume = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = n;
      continue;
    }
    if (p < pattern.size() && pattern[p] == '[') {
      const Set set = match_set(pattern, p, name[n]);
      if (set.contains) {
        p = set.end;
        ++n;
        continue;
      }
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == name[n])) {
      ++p;
      ++n;
      continue;
    }
    if (star == std::string_view::npos) return false;
    p = star + 1;
    n = ++resume;
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace

Glob::Glob(std::string pattern) : pattern_(std::move(pattern)) {
  require(!pattern_.empty(), "an empty pattern matches nothing");
  expand(pattern_, pattern_, alternatives_);
  for (const std::string& text : alternatives_) require_closed_sets(pattern_, text);
  literal_ = pattern_.find_first_of("*?[") == std::string::npos;
}

bool Glob::matches(std::string_view name) const {
  return std::ranges::any_of(alternatives_, [&](const std::string& text) {
    return match(text, name);
  });
}

}  // namespace hone
