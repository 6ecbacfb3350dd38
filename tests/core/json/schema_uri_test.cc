#include "core/json/schema_uri.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(SchemaUri, ResolvesAsRfc3986) {
  // Section 5.4.1 of the RFC, without queries.
  const std::string base = "http://a/b/c/d";
  EXPECT_EQ(resolve_uri(base, "g:h"), "g:h");
  EXPECT_EQ(resolve_uri(base, "g"), "http://a/b/c/g");
  EXPECT_EQ(resolve_uri(base, "./g"), "http://a/b/c/g");
  EXPECT_EQ(resolve_uri(base, "g/"), "http://a/b/c/g/");
  EXPECT_EQ(resolve_uri(base, "/g"), "http://a/g");
  EXPECT_EQ(resolve_uri(base, "//g"), "http://g");
  EXPECT_EQ(resolve_uri(base, ""), "http://a/b/c/d");
  EXPECT_EQ(resolve_uri(base, "."), "http://a/b/c/");
  EXPECT_EQ(resolve_uri(base, ".."), "http://a/b/");
  EXPECT_EQ(resolve_uri(base, "../g"), "http://a/b/g");
  EXPECT_EQ(resolve_uri(base, "../../g"), "http://a/g");
  EXPECT_EQ(resolve_uri(base, "../../../g"), "http://a/g");
  EXPECT_EQ(resolve_uri("urn:x:y", "#f"), "urn:x:y");
}

TEST(SchemaUri, FragmentsAreDecoded) {
  const UriParts parts = split_fragment("a.json#/b%25c");
  EXPECT_EQ(parts.uri, "a.json");
  EXPECT_EQ(parts.fragment, "/b%c");
  EXPECT_EQ(split_fragment("a.json").fragment, "");
}

}  // namespace
}  // namespace hone
