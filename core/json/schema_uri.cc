#include "core/json/schema_uri.h"

#include <vector>

namespace hone {
namespace {

int hex_value(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::string percent_decoded(std::string_view text) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    const int high = i + 2 < text.size() ? hex_value(text[i + 1]) : -1;
    const int low = i + 2 < text.size() ? hex_value(text[i + 2]) : -1;
    if (text[i] == '%' && high >= 0 && low >= 0) {
      result += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

struct Split {
  std::string_view scheme;     // "http:" or empty
  std::string_view authority;  // "//host" or empty
  std::string_view path;       // query included
};

Split split(std::string_view uri) {
  Split result;
  const size_t colon = uri.find(':');
  const size_t slash = uri.find_first_of("/?#");
  if (colon != std::string_view::npos && (slash == std::string_view::npos || colon < slash)) {
    result.scheme = uri.substr(0, colon + 1);
    uri.remove_prefix(colon + 1);
  }
  if (uri.starts_with("//")) {
    const size_t end = uri.find('/', 2);
    result.authority = uri.substr(0, end);
    uri.remove_prefix(result.authority.size());
  }
  result.path = uri;
  return result;
}

std::string without_dots(std::string_view path) {
  std::vector<std::string_view> parts;
  const bool absolute = path.starts_with("/");
  size_t at = absolute ? 1 : 0;
  while (true) {
    const size_t slash = path.find('/', at);
    const std::string_view part = path.substr(at, slash - at);
    const bool last = slash == std::string_view::npos;
    if (part == "..") {
      if (!parts.empty()) parts.pop_back();
      if (last) parts.emplace_back("");
    } else if (part == ".") {
      if (last) parts.emplace_back("");
    } else {
      parts.push_back(part);
    }
    if (last) break;
    at = slash + 1;
  }
  std::string result = absolute ? "/" : "";
  for (size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) result += '/';
    result += parts[i];
  }
  return result;
}

}  // namespace

UriParts split_fragment(std::string_view reference) {
  const size_t hash = reference.find('#');
  UriParts parts;
  parts.uri = reference.substr(0, hash);
  if (hash != std::string_view::npos) parts.fragment = percent_decoded(reference.substr(hash + 1));
  return parts;
}

std::string resolve_uri(std::string_view base, std::string_view reference) {
  reference = reference.substr(0, reference.find('#'));
  if (reference.empty()) return std::string(base);
  const Split r = split(reference);
  if (!r.scheme.empty()) return std::string(reference);
  const Split b = split(base);
  std::string result(b.scheme);
  if (!r.authority.empty()) return result + std::string(reference);
  result += b.authority;
  if (r.path.starts_with("/")) return result + without_dots(r.path);
  const size_t slash = b.path.rfind('/');
  std::string merged = slash == std::string_view::npos ? (b.authority.empty() ? "" : "/")
                                                       : std::string(b.path.substr(0, slash + 1));
  merged += r.path;
  return result + without_dots(merged);
}

}  // namespace hone
