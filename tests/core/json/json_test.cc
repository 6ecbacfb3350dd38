#include "core/json/json.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/base/file.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const DataError& e) {
    return e.what();
  }
  return "no error";
}

TEST(Json, KeepsTheOrderOfKeys) {
  EXPECT_EQ(
      dump_json(parse_json(R"({"b":1,"a":{"d":2,"c":3}})", "t")), R"({"b":1,"a":{"d":2,"c":3}})"
  );
}

TEST(Json, ErrorsNameSourceAndOffset) {
  const std::string error = error_of([] { parse_json("{\"a\": }", "config.json"); });
  EXPECT_THAT(error, HasSubstr("config.json"));
  EXPECT_THAT(error, HasSubstr("7"));
  EXPECT_THAT(error_of([] { parse_json("", "empty.json"); }), HasSubstr("empty.json"));
  EXPECT_THAT(error_of([] { parse_json("{} {}", "two.json"); }), HasSubstr("two.json"));
}

TEST(Json, LongTokensAreCutInErrors) {
  const std::string error =
      error_of([] { parse_json("{\"a\": \"" + std::string(100000, 'x'), "big.json"); });
  EXPECT_LT(error.size(), 500U);
  EXPECT_THAT(error, HasSubstr("at byte 100007 of 100007"));
}

TEST(Json, NumbersKeepTheirKind) {
  EXPECT_TRUE(parse_json("9223372036854775807", "t").is_number_integer());
  EXPECT_EQ(parse_json("18446744073709551615", "t").get<uint64_t>(), 18446744073709551615ULL);
  EXPECT_TRUE(parse_json("1.0", "t").is_number_float());
  EXPECT_THROW(parse_json("1e400", "t"), DataError);
  EXPECT_THROW(parse_json("NaN", "t"), DataError);
  EXPECT_THROW(parse_json("01", "t"), DataError);
}

TEST(Json, OfRepeatedKeysTheLastCounts) {
  EXPECT_EQ(dump_json(parse_json(R"({"a":1,"b":2,"a":{"c":3}})", "t")), R"({"a":{"c":3},"b":2})");
  // Many keys take another path.
  std::string text = "{";
  std::string expected = "{";
  for (int i = 0; i < 100; ++i) text += fmt::format("\"k{}\":{},", i, i);
  for (int i = 0; i < 100; ++i) {
    expected += fmt::format("{}\"k{}\":{}", i == 0 ? "" : ",", i, i % 10 == 0 ? -i : i);
  }
  for (int i = 0; i < 100; i += 10) text += fmt::format("\"k{}\":1,\"k{}\":{},", i, i, -i);
  text.back() = '}';
  EXPECT_EQ(dump_json(parse_json(text, "t")), expected + "}");
}

TEST(Json, HostileObjectsWithManyKeysEnd) {
  std::string text = "{";
  for (int i = 0; i < 300000; ++i) text += fmt::format("\"{}\":0,", i);
  text.back() = '}';
  EXPECT_EQ(parse_json(text, "t").size(), 300000U);
}

TEST(Json, DeepNestingIsRefused) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_NO_THROW(parse_json(nested(250), "t"));
  EXPECT_THROW(parse_json(nested(300), "t"), DataError);
  EXPECT_THROW(parse_json(std::string(1'000'000, '['), "t"), DataError);
}

TEST(Json, InvalidUtf8IsReplacedOnOutput) {
  EXPECT_EQ(dump_json(Json("a\xff")), "\"a\xEF\xBF\xBD\"");
}

TEST(Json, TypedFields) {
  const Json object = parse_json(R"({"i":3,"f":2.5,"b":true,"s":"x","n":null})", "t");
  EXPECT_EQ(json_int(object, "i", "t"), 3);
  EXPECT_EQ(json_number(object, "f", "t"), 2.5);
  EXPECT_EQ(json_number(object, "i", "t"), 3.0);
  EXPECT_TRUE(json_bool(object, "b", "t"));
  EXPECT_EQ(json_string(object, "s", "t"), "x");
  EXPECT_EQ(json_int_or(object, "n", 7, "t"), 7);
  EXPECT_EQ(json_int_or(object, "missing", 8, "t"), 8);
  EXPECT_EQ(json_string_or(object, "missing", "y", "t"), "y");
  EXPECT_THAT(error_of([&] { json_int(object, "s", "file"); }), HasSubstr("file: field \"s\""));
  EXPECT_THAT(error_of([&] { json_int(object, "missing", "file"); }), HasSubstr("\"missing\""));
  EXPECT_THROW(json_int(object, "n", "t"), DataError);
  EXPECT_THROW(json_int_or(object, "s", 1, "t"), DataError);
  EXPECT_THROW(json_bool(object, "i", "t"), DataError);
  EXPECT_THROW(json_string(object, "i", "t"), DataError);
  // Integers by value, and never rounded or wrapped.
  const Json numbers = parse_json(R"({"a":4096.0,"b":1.5,"c":18446744073709551615,"d":1e30})", "t");
  EXPECT_EQ(json_int(numbers, "a", "t"), 4096);
  EXPECT_THROW(json_int(numbers, "b", "t"), DataError);
  EXPECT_THROW(json_int(numbers, "c", "t"), DataError);
  EXPECT_THROW(json_int(numbers, "d", "t"), DataError);
  EXPECT_THROW(json_int(Json::array(), "a", "t"), DataError);
  EXPECT_EQ(json_number_or(object, "missing", 0.5, "t"), 0.5);
  EXPECT_TRUE(json_bool_or(object, "n", true, "t"));
}

TEST(Json, FilesRoundTrip) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "json_test_round_trip.json";
  const Json document = parse_json(R"({"b":[1,2.5],"a":{"x":null}})", "t");
  write_json_file(path, document);
  EXPECT_EQ(
      read_text_file(path),
      "{\n  \"b\": [\n    1,\n    2.5\n  ],\n  \"a\": {\n    \"x\": null\n  }\n}\n"
  );
  EXPECT_EQ(read_json_file(path), document);
  write_text_file(path, "{");
  EXPECT_THAT(error_of([&] { read_json_file(path); }), HasSubstr(path.string()));
  std::filesystem::remove(path);
  EXPECT_THAT(error_of([&] { read_json_file(path); }), HasSubstr(path.string()));
}

TEST(Json, LinesAreReadOneByOne) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "json_test_lines.jsonl";
  write_text_file(path, "{\"a\":1}\n\n  \n[2]\n");
  const auto lines = read_jsonl_file(path);
  ASSERT_EQ(lines.size(), 2U);
  EXPECT_EQ(lines[1], Json({2}));
  write_text_file(path, "{}\n{\n");
  EXPECT_THAT(error_of([&] { read_jsonl_file(path); }), HasSubstr("2"));
}

}  // namespace
}  // namespace hone
