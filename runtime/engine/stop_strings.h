// Ends a streamed text before the first stop string, and never shows a part of one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

class StopStrings {
 public:
  // Throws UsageError for an empty stop string.
  explicit StopStrings(std::vector<std::string> stops);

  // Takes new text, returns what may be shown: all but the longest tail that could still become a
  // stop string. Nothing is shown from a match on.
  std::string push(std::string_view text);
  // What was held back, when the text ends without a match.
  std::string finish();
  // A stop string is complete. Of several, the first to be complete ended the text.
  [[nodiscard]] bool matched() const { return matched_; }

 private:
  std::vector<std::string> stops_;
  std::string held_;
  bool matched_ = false;
};

}  // namespace hone
