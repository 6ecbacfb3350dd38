#include "quant/check/name_list.h"

#include <fnmatch.h>

#include "core/base/error.h"

namespace hone {
namespace {

constexpr std::string_view kExpression = "re:";

}  // namespace

NameList::NameList(NameStyle style, std::vector<std::string> entries)
    : style_(style), entries_(std::move(entries)) {
  for (size_t i = 0; i < entries_.size(); ++i) {
    const std::string& entry = entries_[i];
    if (style_ == NameStyle::kRegex && entry.starts_with(kExpression)) {
      try {
        expressions_.push_back(
            {i, std::make_shared<const EcmaRegex>("^(?:" + entry.substr(kExpression.size()) + ")")}
        );
      } catch (const DataError& error) {
        mistakes_.push_back(fmt::format("\"{}\": {}", entry, error.what()));
      }
      continue;
    }
    const size_t wildcard =
        style_ == NameStyle::kGlob ? entry.find_first_of("*?[") : std::string::npos;
    if (wildcard == std::string::npos) {
      exact_.emplace(entry, i);
    } else {
      patterns_.push_back({i, entry, entry + ".*", wildcard});
    }
  }
}

void NameList::offer(int64_t& best, std::string_view name) const {
  const auto it = exact_.find(std::string(name));
  if (it == exact_.end()) return;
  const auto index = static_cast<int64_t>(it->second);
  if (best < 0 || index < best) best = index;
}

int64_t NameList::match(std::string_view module) const {
  int64_t best = -1;
  offer(best, module);
  if (style_ == NameStyle::kGlob && !exact_.empty()) {
    // Every run of whole components: "mlp.gate" lies in "model.layers.0.mlp.gate".
    for (size_t begin = 0; begin < module.size();) {
      for (size_t end = begin; end != std::string_view::npos;) {
        end = module.find('.', end);
        offer(best, module.substr(begin, end == std::string_view::npos ? end : end - begin));
        if (end != std::string_view::npos) ++end;
      }
      const size_t dot = module.find('.', begin);
      if (dot == std::string_view::npos) break;
      begin = dot + 1;
    }
  }
  const std::string name(module);
  const auto better = [&](size_t index) { return best < 0 || static_cast<int64_t>(index) < best; };
  for (const Pattern& pattern : patterns_) {
    if (!better(pattern.index)) continue;
    if (name.compare(0, pattern.literal, pattern.text, 0, pattern.literal) != 0) continue;
    if (fnmatch(pattern.text.c_str(), name.c_str(), FNM_NOESCAPE) == 0 ||
        fnmatch(pattern.below.c_str(), name.c_str(), FNM_NOESCAPE) == 0)
      best = static_cast<int64_t>(pattern.index);
  }
  for (const Expression& expression : expressions_) {
    if (!better(expression.index)) continue;
    try {
      if (expression.regex->matches(name)) best = static_cast<int64_t>(expression.index);
    } catch (const DataError&) {
      // It explodes on this name; engines would hang or fail, but that is another matter.
    }
  }
  return best;
}

}  // namespace hone
