// Text inside HTML.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// Escapes & < > " ' and replaces control characters other than tab and newline.
std::string escape_html(std::string_view text);

// JSON text that may stand inside <script>: "<" becomes \u003c, so that no tag can end the element.
std::string escape_script_json(std::string_view json);

// Two texts with what follows their common beginning marked.
struct MarkedPair {
  std::string left;  // escaped HTML
  std::string right;
};
MarkedPair mark_difference(std::string_view left, std::string_view right);

}  // namespace hone
