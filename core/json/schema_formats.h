// The values of JSON Schema's "format" keyword that can be asserted.
//
// date, time, date-time (RFC 3339), duration (ISO 8601 as RFC 3339 appendix A), email (RFC 5321),
// idn-email (RFC 6531), hostname (RFC 1123), ipv4, ipv6 (RFC 4291), uri, uri-reference (RFC 3986),
// iri, iri-reference (RFC 3987), uri-template (RFC 6570), uuid (RFC 4122), json-pointer (RFC 6901),
// relative-json-pointer, regex (ECMA-262).
#pragma once

#include <string>
#include <string_view>

namespace hone {

bool is_known_format(std::string_view format);

// REQUIRES: is_known_format(format).
bool matches_format(std::string_view format, const std::string& text);

}  // namespace hone
