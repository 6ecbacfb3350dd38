// What can rot in sources: sizes, names, literals with one owner, mirrored tests.
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "tests/structure/source_tree.h"

namespace hone {
namespace {

// shared rule of the house: a file that grows beyond these has two reasons to change.
constexpr int kHeaderLines = 400;
constexpr int kSourceLines = 700;
constexpr int kKernelLines = 800;
constexpr size_t kHeaderIncludes = 12;

bool is_kernel(const std::string& path) {
  return path.starts_with("runtime/op/cpu/") || path.ends_with(".cu");
}

TEST(Sources, StayBelowTheSizeLimits) {
  for (const SourceFile& file : product_sources()) {
    const int limit =
        is_kernel(file.path) ? kKernelLines : (file.is_header() ? kHeaderLines : kSourceLines);
    EXPECT_LE(file.lines, limit) << file.path;
    if (file.is_header()) {
      EXPECT_LE(file.project_includes.size(), kHeaderIncludes) << file.path;
      EXPECT_NE(file.text.find("#pragma once"), std::string::npos) << file.path;
    }
  }
}

TEST(Sources, HaveNamesThatSayWhatIsInside) {
  const std::regex vague("(^|/|_)(utils?|common|misc|helpers?)(_|/|\\.|$)");
  for (const auto* files : {&product_sources(), &test_sources()}) {
    for (const SourceFile& file : *files) {
      EXPECT_FALSE(std::regex_search(file.path, vague)) << file.path;
    }
  }
}

TEST(Sources, EveryExternalFactHasOneOwner) {
  struct Fact {
    const char* pattern;
    const char* owner;  // path prefix
  };
  // config.json's keys, tensor names and dtype names are known to one place each.
  const Fact facts[] = {
      {"\"num_key_value_heads\"", "runtime/model/"},
      {"\"rms_norm_eps\"", "runtime/model/"},
      {"self_attn\\.q_proj", "runtime/model/"},
      {"\"F8_E4M3\"", "core/tensor/dtype"},
      {"weight_scale_inv", "core/io/"},
      {"weight_scale_2", "core/io/"},
  };
  for (const Fact& fact : facts) {
    const std::regex pattern(fact.pattern);
    bool found = false;
    for (const SourceFile& file : product_sources()) {
      if (file.path.starts_with(fact.owner)) {
        found = found || std::regex_search(file.text, pattern);
        continue;
      }
      // Comments may speak of it.
      std::istringstream lines(file.text);
      for (std::string line; std::getline(lines, line);) {
        const size_t comment = line.find("//");
        EXPECT_FALSE(std::regex_search(line.substr(0, comment), pattern))
            << file.path << ": " << line << "\nbelongs to " << fact.owner;
      }
    }
    EXPECT_TRUE(found) << fact.pattern << " is not where it belongs: " << fact.owner;
  }
}

TEST(Sources, EnvironmentIsReadInTheProgramOnly) {
  const std::regex getenv_call("\\bgetenv\\s*\\(");
  for (const SourceFile& file : product_sources()) {
    if (file.path.starts_with("cli/")) continue;
    EXPECT_FALSE(std::regex_search(file.text, getenv_call)) << file.path;
  }
}

TEST(Sources, PreprocessorConditionsStayInDeviceCode) {
  const std::regex condition("(^|\n)\\s*#\\s*(if|ifdef|ifndef|elif)\\b");
  for (const SourceFile& file : product_sources()) {
    if (file.path.starts_with("core/device/") || file.path == "core/base/error.h") continue;
    if (file.path.starts_with("runtime/op/cpu/")) continue;  // one source per ISA: HONE_ISA_WIDTH
    EXPECT_FALSE(std::regex_search(file.text, condition)) << file.path;
  }
}

TEST(Sources, TestsMirrorTheSources) {
  // tests/<folder>/<file>_test.cc has a source of that name; whole-pipeline tests live in
  // tests/regression, tests/structure and tests/cli.
  std::set<std::string> products;
  for (const SourceFile& file : product_sources()) {
    products.insert(file.path.substr(0, file.path.rfind('.')));
  }
  for (const SourceFile& file : test_sources()) {
    const std::string suffix = "_test.cc";
    if (!file.path.ends_with(suffix)) continue;
    const std::string mirrored = file.path.substr(6, file.path.size() - 6 - suffix.size());
    const std::string folder = mirrored.substr(0, mirrored.find('/'));
    if (folder == "structure" || folder == "regression" || folder == "cli" || folder == "fuzz") {
      continue;
    }
    const bool exists = products.contains(mirrored);
    EXPECT_TRUE(exists) << file.path << " mirrors no source " << mirrored;
  }
}

TEST(Sources, IncludeTheirOwnHeaderFirst) {
  // So every header with a source is proved to compile alone.
  std::set<std::string> headers;
  for (const SourceFile& file : product_sources()) {
    if (file.is_header()) headers.insert(file.path);
  }
  for (const SourceFile& file : product_sources()) {
    if (!file.path.ends_with(".cc")) continue;
    const std::string own = file.path.substr(0, file.path.size() - 3) + ".h";
    if (!headers.contains(own)) continue;
    const size_t first = file.text.find("#include");
    const std::string expected = "#include \"" + own + "\"";
    EXPECT_EQ(file.text.substr(first, expected.size()), expected) << file.path;
  }
}

TEST(Sources, HeadersSayWhatTheyAreFor) {
  for (const SourceFile& file : product_sources()) {
    if (!file.is_header()) continue;
    EXPECT_NE(file.text.find("// "), std::string::npos) << file.path << " has no comment at all";
  }
}

}  // namespace
}  // namespace hone
