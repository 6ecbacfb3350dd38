#include "core/json/schema_uri.h"

#include <cctype>

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
    if (text[i] == '%' && i + 2 < text.size() && hex_value(text[i + 1]) >= 0 &&
        hex_value(text[i + 2]) >= 0) {
      result += static_cast<char>(hex_value(text[i + 1]) * 16 + hex_value(text[i + 2]));
      i += 2;
    } else {
      result += text[i];
    }
  }
  return result;
}

// Each part with its punctuation, so that joining them gives the URI back.
struct Split {
  std::string_view scheme;     // "http:"
  std::string_view authority;  // "//host:80"
  std::string_view path;
  std::string_view query;  // "?a=b"
};

Split split(std::string_view uri) {
  Split result;
  const size_t colon = uri.find_first_of(":/?");
  if (colon != std::string_view::npos && colon > 0 && uri[colon] == ':' &&
      std::isalpha(static_cast<unsigned char>(uri[0])) != 0) {
    result.scheme = uri.substr(0, colon + 1);
    uri.remove_prefix(colon + 1);
  }
  if (uri.starts_with("//")) {
    result.authority = uri.substr(0, uri.find_first_of("/?", 2));
    uri.remove_prefix(result.authority.size());
  }
  result.path = uri.substr(0, uri.find('?'));
  result.query = uri.substr(result.path.size());
  return result;
}

// RFC 3986 section 5.2.4.
std::string without_dots(std::string_view path) {
  std::string result;
  while (!path.empty()) {
    if (path.starts_with("../")) {
      path.remove_prefix(3);
    } else if (path.starts_with("./") || path.starts_with("/./")) {
      path.remove_prefix(2);
    } else if (path == "/.") {
      path = "/";
    } else if (path.starts_with("/../") || path == "/..") {
      path = path == "/.." ? std::string_view("/") : path.substr(3);
      const size_t slash = result.rfind('/');
      result.resize(slash == std::string::npos ? 0 : slash);
    } else if (path == "." || path == "..") {
      path = {};
    } else {
      const size_t end = path.find('/', path.starts_with('/') ? 1 : 0);
      result += path.substr(0, end);
      path.remove_prefix(end == std::string_view::npos ? path.size() : end);
    }
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
  base = base.substr(0, base.find('#'));
  reference = reference.substr(0, reference.find('#'));
  const Split r = split(reference);
  const Split b = split(base);
  const auto join = [](auto scheme, auto authority, const std::string& path, auto query) {
    return std::string(scheme) + std::string(authority) + path + std::string(query);
  };
  if (!r.scheme.empty()) return join(r.scheme, r.authority, without_dots(r.path), r.query);
  if (!r.authority.empty()) return join(b.scheme, r.authority, without_dots(r.path), r.query);
  if (r.path.empty()) {
    return join(b.scheme, b.authority, std::string(b.path), r.query.empty() ? b.query : r.query);
  }
  if (r.path.starts_with('/')) {
    return join(b.scheme, b.authority, without_dots(r.path), r.query);
  }
  std::string merged;
  if (!b.authority.empty() && b.path.empty()) {
    merged = "/";
  } else if (const size_t slash = b.path.rfind('/'); slash != std::string_view::npos) {
    merged = b.path.substr(0, slash + 1);
  }
  merged += r.path;
  return join(b.scheme, b.authority, without_dots(merged), r.query);
}

std::string escape_pointer(std::string_view token) {
  std::string result;
  for (const char c : token) {
    if (c == '~') {
      result += "~0";
    } else if (c == '/') {
      result += "~1";
    } else {
      result += c;
    }
  }
  return result;
}

std::string unescape_pointer(std::string_view token) {
  std::string result;
  for (size_t i = 0; i < token.size(); ++i) {
    if (token[i] == '~' && i + 1 < token.size() && (token[i + 1] == '0' || token[i + 1] == '1')) {
      result += token[++i] == '0' ? '~' : '/';
    } else {
      result += token[i];
    }
  }
  return result;
}

}  // namespace hone
