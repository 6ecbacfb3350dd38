// The official JSON Schema Test Suite (tests/golden/jsonschema/README.md), every test of every
// draft. The lists below are the tests that fail, and why; a test that passes and is listed fails
// as well.
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>

#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/json/schema.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

const fs::path kSuite = fs::path(HONE_SOURCE_DIR) / "tests" / "golden" / "jsonschema";

// Optional tests that are not run: what they ask for is not built.
bool is_left_out(const Json& group) {
  const std::string& file = group.at("file").get_ref<const std::string&>();
  // IDNA 2008 (tables of code points, contextual rules). "idn-hostname" is reported as unsupported;
  // "hostname" takes A-labels by their letters.
  if (file == "optional/format/idn-hostname") return true;
  if (group.at("description") == "validation of A-label (punycode) host names") return true;
  // Draft 7 lets contentMediaType and contentEncoding be asserted; later drafts forbid it.
  return file == "optional/content";
}

// The tests that fail.
const std::set<std::string> kExpectedFailures{
    // PCRE2 has no look-behind of variable width.
    "optional/format/ecmascript-regex | ECMA 262 lookbehind is valid, "
    "including variable width | "
    "a variable-width lookbehind (ES2018)",
    // Draft 4 lets an implementation choose; 1.0 is an integer here as in all later drafts.
    "optional/zeroTerminatedFloats | some languages do not distinguish between "
    "different types of "
    "numeric value | a float is not an integer even without fractional part",
};

struct Outcome {
  int passed = 0;
  int total = 0;
  int left_out = 0;
  std::set<std::string> failed;
};

SchemaOptions suite_options(SchemaDraft draft) {
  SchemaOptions options;
  options.draft = draft;
  const Json remotes = read_json_file(kSuite / "remotes.json");
  for (const auto& [uri, document] : remotes.items()) options.documents.emplace(uri, document);
  return options;
}

void run_group(const Json& group, SchemaOptions& options, Outcome& outcome) {
  const auto file = group.at("file").get<std::string>();
  options.assert_formats = file.starts_with("optional/format/");
  std::string broken;
  std::optional<JsonSchema> schema;
  try {
    schema.emplace(JsonSchema::compile(group.at("schema"), options));
  } catch (const Error& error) {
    broken = error.what();
  }
  for (const Json& test : group.at("tests")) {
    const std::string name = file + " | " + group.at("description").get<std::string>() + " | " +
                             test.at("description").get<std::string>();
    ++outcome.total;
    std::string problem = broken;
    if (schema) {
      try {
        const auto violations = schema->validate(test.at("data"));
        // The two ways of asking must agree.
        EXPECT_EQ(violations.empty(), schema->valid(test.at("data"))) << name;
        if (violations.empty() != test.at("valid").get<bool>()) {
          problem = violations.empty() ? "found valid" : "found invalid: " + violations[0].message;
        }
      } catch (const Error& error) {
        problem = error.what();
      }
    }
    if (problem.empty()) {
      ++outcome.passed;
    } else {
      outcome.failed.insert(name);
      std::cout << name << ": " << problem << '\n';
    }
  }
}

Outcome run_file(const std::string& file, SchemaDraft draft) {
  Outcome outcome;
  SchemaOptions options = suite_options(draft);
  for (const Json& group : read_jsonl_file(kSuite / file)) {
    if (is_left_out(group)) {
      outcome.left_out += static_cast<int>(group.at("tests").size());
    } else {
      run_group(group, options, outcome);
    }
  }
  std::cout << file << ": " << outcome.passed << " of " << outcome.total << " tests pass, "
            << outcome.left_out << " are left out\n";
  return outcome;
}

struct Case {
  const char* name;
  SchemaDraft draft;
  // How many there are: a truncated file must not pass.
  int required;
  int optional;
};

void PrintTo(const Case& tested, std::ostream* out) {
  *out << tested.name;
}

class SchemaSuite : public testing::TestWithParam<Case> {};

TEST_P(SchemaSuite, AllRequiredTestsPass) {
  const Outcome outcome = run_file(std::string(GetParam().name) + ".jsonl", GetParam().draft);
  EXPECT_EQ(outcome.total, GetParam().required);
  EXPECT_EQ(outcome.left_out, 0);
  EXPECT_EQ(outcome.failed, std::set<std::string>{});
}

TEST_P(SchemaSuite, OptionalTestsPassExceptTheListed) {
  const Outcome outcome =
      run_file(std::string(GetParam().name) + "-optional.jsonl", GetParam().draft);
  EXPECT_EQ(outcome.total + outcome.left_out, GetParam().optional);
  for (const std::string& name : outcome.failed)
    EXPECT_TRUE(kExpectedFailures.contains(name)) << name;
}

INSTANTIATE_TEST_SUITE_P(
    Drafts,
    SchemaSuite,
    testing::Values(
        Case{"draft4", SchemaDraft::k4, 610, 253},
        Case{"draft6", SchemaDraft::k6, 829, 320},
        Case{"draft7", SchemaDraft::k7, 927, 794},
        Case{"draft2019-09", SchemaDraft::k2019, 1227, 637},
        Case{"draft2020-12", SchemaDraft::k2020, 1299, 926}
    ),
    [](const auto& tested) {
      std::string name = tested.param.name;
      std::erase(name, '-');
      return name;
    }
);

}  // namespace
}  // namespace hone
