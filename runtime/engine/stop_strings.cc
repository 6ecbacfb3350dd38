#include "runtime/engine/stop_strings.h"

#include <algorithm>

#include "core/base/error.h"

namespace hone {

StopStrings::StopStrings(std::vector<std::string> stops) : stops_(std::move(stops)) {
  for (const std::string& stop : stops_)
    require(!stop.empty(), "a stop string is empty; expected at least one character");
}

std::string StopStrings::push(std::string_view text) {
  if (matched_) return {};
  held_ += text;
  // The match that is complete first counts, so that the end does not depend on how the text was
  // cut; of several that end together, the longest.
  size_t first = std::string::npos;
  size_t end = std::string::npos;
  for (const std::string& stop : stops_) {
    const size_t at = held_.find(stop);
    if (at == std::string::npos) continue;
    if (at + stop.size() < end || (at + stop.size() == end && at < first)) {
      first = at;
      end = at + stop.size();
    }
  }
  if (first != std::string::npos) {
    matched_ = true;
    std::string shown = held_.substr(0, first);
    held_.clear();
    return shown;
  }
  size_t keep = 0;
  for (const std::string& stop : stops_) {
    for (size_t n = std::min(stop.size() - 1, held_.size()); n > keep; --n) {
      if (std::string_view(held_).ends_with(std::string_view(stop).substr(0, n))) {
        keep = n;
        break;
      }
    }
  }
  std::string shown = held_.substr(0, held_.size() - keep);
  held_.erase(0, shown.size());
  return shown;
}

std::string StopStrings::finish() {
  std::string rest;
  rest.swap(held_);
  return rest;
}

}  // namespace hone
