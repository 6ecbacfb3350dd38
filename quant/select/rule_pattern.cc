#include "quant/select/rule_pattern.h"

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr std::string_view kLayer = "layer:";
constexpr std::string_view kSize = "size";
constexpr std::string_view kRegex = "re:";
constexpr int64_t kMostElements = int64_t{1} << 50;

std::optional<int64_t> number(std::string_view text) {
  int64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || at != end) return std::nullopt;
  return value;
}

}  // namespace

RulePattern::RulePattern(std::string_view text) : text_(text) {
  std::string_view rest = text;
  while (true) {
    if (rest.starts_with(kRegex)) {
      add_regex(rest.substr(kRegex.size()));
      return;
    }
    const size_t end = rest.find('&');
    add(rest.substr(0, end));
    if (end == std::string_view::npos) return;
    rest = rest.substr(end + 1);
  }
}

void RulePattern::add(std::string_view condition) {
  if (condition.starts_with(kLayer)) {
    add_layers(condition.substr(kLayer.size()));
  } else if (condition.starts_with(kSize) && condition.size() > kSize.size() &&
             (condition[kSize.size()] == '<' || condition[kSize.size()] == '>')) {
    add_size(condition.substr(kSize.size()));
  } else {
    globs_.emplace_back(std::string(condition));
  }
}

void RulePattern::add_layers(std::string_view condition) {
  const size_t dots = condition.find("..");
  const auto first = number(condition.substr(0, dots));
  const auto last = dots == std::string_view::npos ? first : number(condition.substr(dots + 2));
  require(first && last, "pattern \"{}\": expected layer:3, layer:0..3 or layer:-1", text_);
  const bool same_end = (*first < 0) == (*last < 0);
  require(
      !same_end || *first <= *last, "pattern \"{}\": layer {} comes after {}", text_, *first, *last
  );
  layers_.push_back({*first, *last});
}

void RulePattern::add_size(std::string_view condition) {
  std::string_view digits = condition.substr(1);
  int64_t unit = 1;
  for (const auto& [letter, factor] :
       {std::pair{'k', int64_t{1'000}}, {'m', int64_t{1'000'000}}, {'g', int64_t{1'000'000'000}}}) {
    if (digits.empty() || digits.back() != letter) continue;
    digits.remove_suffix(1);
    unit = factor;
    break;
  }
  const auto value = number(digits);
  require(
      value && *value >= 0 && *value <= kMostElements / unit,
      "pattern \"{}\": expected size<1000000, size>100k or size<1m",
      text_
  );
  sized_ = true;
  if (condition.front() == '<') less_than_ = std::min(less_than_, *value * unit);
  if (condition.front() == '>') more_than_ = std::max(more_than_, *value * unit);
}

void RulePattern::add_regex(std::string_view expression) {
  require(!expression.empty(), "pattern \"{}\": the regular expression is empty", text_);
  try {
    regex_ = std::make_shared<const EcmaRegex>(std::string(expression));
  } catch (const DataError& error) {
    throw UsageError(fmt::format("pattern \"{}\": {}", text_, error.what()));
  }
}

bool RulePattern::matches(const RuleSubject& s) const {
  const bool by_glob = std::ranges::all_of(globs_, [&](const Glob& glob) {
    return glob.matches(role_name(s.role)) || glob.matches(s.tensor) ||
           (!s.module.empty() && glob.matches(s.module));
  });
  const bool by_layer = std::ranges::all_of(layers_, [&](const LayerRange& range) {
    const int64_t first = range.first < 0 ? s.layers + range.first : range.first;
    const int64_t last = range.last < 0 ? s.layers + range.last : range.last;
    return s.layer >= 0 && s.layer >= first && s.layer <= last;
  });
  if (!by_glob || !by_layer || s.elements <= more_than_ || s.elements >= less_than_) return false;
  return regex_ == nullptr || regex_->matches(s.tensor) ||
         (!s.module.empty() && regex_->matches(s.module));
}

bool RulePattern::literal() const {
  return globs_.size() == 1 && globs_[0].literal() && layers_.empty() && !sized_ &&
         regex_ == nullptr;
}

}  // namespace hone
