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

// `reference` resolved against `base` (RFC 3986 section 5.2), without a fragment.
std::string resolve_uri(std::string_view base, std::string_view reference);

}  // namespace hone
