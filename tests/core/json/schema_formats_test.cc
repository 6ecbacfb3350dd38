// The suite's optional/format tests (schema_validate_test.cc) are the broad check; here stand the
// cases that it lacks.
#include "core/json/schema_formats.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

struct Case {
  const char* format;
  const char* text;
  bool valid;
};

TEST(SchemaFormats, Cases) {
  const Case cases[] = {
      {"date", "2024-02-29", true},
      {"date", "1900-02-29", false},
      {"date", "2000-02-29", true},
      {"date", "2024-13-01", false},
      {"date", "2024-1-01", false},
      {"time", "23:59:60Z", true},
      {"time", "22:59:60Z", false},
      {"time", "22:59:60-01:00", true},
      {"time", "12:00:00", false},
      {"time", "12:00:00.Z", false},
      {"time", "24:00:00Z", false},
      {"date-time", "2024-02-29T12:00:00+05:30", true},
      {"date-time", "2024-02-29 12:00:00Z", false},
      {"date-time", "", false},
      {"duration", "P1Y2M3DT4H5M6S", true},
      {"duration", "P1Y3D", false},
      {"duration", "PT", false},
      {"duration", "P4W", true},
      {"duration", "P1W1D", false},
      {"email", "a.b+c@example.com", true},
      {"email", "a..b@example.com", false},
      {"email", "\"a b\"@[127.0.0.1]", true},
      {"email", "a@[IPv6:::1]", true},
      {"email", "@example.com", false},
      {"email", "a@", false},
      {"idn-email", "\xC3\xA9@example.com", true},
      {"email", "\xC3\xA9@example.com", false},
      {"hostname", "a-b.example", true},
      {"hostname", "-a.example", false},
      {"hostname", "a..b", false},
      {"ipv4", "255.255.255.255", true},
      {"ipv4", "256.1.1.1", false},
      {"ipv4", "01.1.1.1", false},
      {"ipv4", "1.1.1", false},
      {"ipv4", "1.1.1.1.", false},
      {"ipv6", "::", true},
      {"ipv6", "1::2::3", false},
      {"ipv6", "1:2:3:4:5:6:7:8", true},
      {"ipv6", "1:2:3:4:5:6:7:8:9", false},
      {"ipv6", "::ffff:1.2.3.4", true},
      {"ipv6", "1:2:3:4:5:6:7::", true},
      {"ipv6", "1:2:3:4:5:6:7:", false},
      {"ipv6", "fe80::1%eth0", false},
      {"uri", "https://a:b@host:80/p/q?x=1#f", true},
      {"uri", "/relative", false},
      {"uri", "http://[::1]/", true},
      {"uri", "http://[::g]/", false},
      {"uri", "http://a b", false},
      {"uri", "http://a/%zz", false},
      {"uri", "urn:isbn:1", true},
      {"uri-reference", "a/b?c", true},
      {"uri-reference", "1a:b", false},
      {"iri", "http://\xC3\xA9/", true},
      {"uri", "http://\xC3\xA9/", false},
      {"uri-template", "/a/{b}/{+c*,d:3}", true},
      {"uri-template", "/a/{b", false},
      {"uuid", "2eb8aa08-aa98-11ea-b4aa-73b441d16380", true},
      {"uuid", "2eb8aa08aa9811eab4aa73b441d16380", false},
      {"json-pointer", "", true},
      {"json-pointer", "/a~1b", true},
      {"json-pointer", "/a~2b", false},
      {"json-pointer", "a", false},
      {"relative-json-pointer", "1/a", true},
      {"relative-json-pointer", "01/a", false},
      {"relative-json-pointer", "0#", true},
      {"regex", "^[a-z]+$", true},
      {"regex", "^\\S(?=a)", true},
      {"regex", "a\\Z", false},
      {"regex", "(", false},
  };
  for (const Case& tested : cases) {
    ASSERT_TRUE(is_known_format(tested.format)) << tested.format;
    EXPECT_EQ(matches_format(tested.format, tested.text), tested.valid)
        << tested.format << ": " << tested.text;
  }
}

TEST(SchemaFormats, UnknownOnesAreKnownToBeUnknown) {
  EXPECT_FALSE(is_known_format("idn-hostname"));
  EXPECT_FALSE(is_known_format("int32"));
  EXPECT_FALSE(is_known_format(""));
}

}  // namespace
}  // namespace hone
