// The part of RFC 3986 that schema identifiers need.
#pragma once

#include <string>
#include <string_view>

namespace hone {

struct UriParts {
  std::string uri;       // without the fragment
  std::string fragment;  // percent-decoded, without '#'
};
UriParts split_fragment(std::string_view reference);

// `reference` resolved against `base` (RFC 3986 section 5.2); a fragment of `reference` is dropped.
std::string resolve_uri(std::string_view base, std::string_view reference);

// One token of a JSON pointer, escaped ("~0", "~1").
std::string escape_pointer(std::string_view token);
std::string unescape_pointer(std::string_view token);

}  // namespace hone
