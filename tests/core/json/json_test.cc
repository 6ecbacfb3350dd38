#include "core/json/json.h"

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
