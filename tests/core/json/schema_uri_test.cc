#include "core/json/schema_uri.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

// RFC 3986, sections 5.4.1 and 5.4.2 (fragments are dropped by resolve_uri).
TEST(SchemaUri, ResolvesAsRfc3986) {
  const std::string base = "http://a/b/c/d;p?q";
  const std::pair<const char*, const char*> cases[] = {
      {"g:h", "g:h"},
      {"g", "http://a/b/c/g"},
      {"./g", "http://a/b/c/g"},
      {"g/", "http://a/b/c/g/"},
      {"/g", "http://a/g"},
      {"//g", "http://g"},
      {"?y", "http://a/b/c/d;p?y"},
      {"g?y", "http://a/b/c/g?y"},
      {"#s", "http://a/b/c/d;p?q"},
      {"g#s", "http://a/b/c/g"},
      {";x", "http://a/b/c/;x"},
      {"g;x?y#s", "http://a/b/c/g;x?y"},
      {"", "http://a/b/c/d;p?q"},
      {".", "http://a/b/c/"},
      {"./", "http://a/b/c/"},
      {"..", "http://a/b/"},
      {"../", "http://a/b/"},
      {"../g", "http://a/b/g"},
      {"../..", "http://a/"},
      {"../../g", "http://a/g"},
      {"../../../g", "http://a/g"},
      {"/./g", "http://a/g"},
      {"/../g", "http://a/g"},
      {"g.", "http://a/b/c/g."},
      {"..g", "http://a/b/c/..g"},
      {"./../g", "http://a/b/g"},
      {"g/./h", "http://a/b/c/g/h"},
      {"g/../h", "http://a/b/c/h"},
      {"g?y/../x", "http://a/b/c/g?y/../x"},
  };
  for (const auto& [reference, expected] : cases) {
    EXPECT_EQ(resolve_uri(base, reference), expected) << reference;
  }
}

TEST(SchemaUri, BasesWithoutAuthority) {
  EXPECT_EQ(resolve_uri("urn:x:y", "#f"), "urn:x:y");
  EXPECT_EQ(resolve_uri("", "a.json"), "a.json");
  EXPECT_EQ(resolve_uri("dir/a.json", "b.json"), "dir/b.json");
  EXPECT_EQ(resolve_uri("http://host", "a"), "http://host/a");
  EXPECT_EQ(resolve_uri("http://host?x", "/a"), "http://host/a");
}

TEST(SchemaUri, PointerTokens) {
  EXPECT_EQ(escape_pointer("a/b~c"), "a~1b~0c");
  EXPECT_EQ(unescape_pointer("a~1b~0c~01~"), "a/b~c~1~");
}

TEST(SchemaUri, FragmentsAreDecoded) {
  const UriParts parts = split_fragment("a.json#/b%25c");
  EXPECT_EQ(parts.uri, "a.json");
  EXPECT_EQ(parts.fragment, "/b%c");
  EXPECT_EQ(split_fragment("a.json").fragment, "");
  EXPECT_EQ(split_fragment("#%zz%4").fragment, "%zz%4");
  EXPECT_EQ(split_fragment("#a%62").fragment, "ab");
}

}  // namespace
}  // namespace hone
