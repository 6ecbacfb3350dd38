#include "quant/select/acceptance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "core/io/dialect.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Acceptance, EngineNames) {
  EXPECT_THAT(engines_for("vllm"), ElementsAre("vllm"));
  EXPECT_THAT(engines_for("trtllm"), ElementsAre("tensorrt-llm"));
  EXPECT_THAT(engines_for("all"), ElementsAre("vllm", "sglang", "tensorrt-llm"));
  EXPECT_EQ(engines_for(""), engines_for("all"));
  EXPECT_THROW((void)engines_for("tgi"), UsageError);
}

// The table of the loaders that were read: + loads, - refused, ? unknown.
TEST(Acceptance, TheTable) {
  const auto row = [](const char* dialect, const char* scheme) {
    std::string text;
    for (const std::string& engine : engine_names()) {
      const Acceptance found = acceptance(engine, dialect, scheme_by_name(scheme));
      EXPECT_EQ(found.why.empty(), found.verdict != Verdict::kRefused);
      text += found.verdict == Verdict::kLoads     ? '+'
              : found.verdict == Verdict::kRefused ? '-'
                                                   : '?';
    }
    return text;
  };
  EXPECT_EQ(row("fp8", "fp8-block"), "+++");
  EXPECT_EQ(row("fp8", "fp8-tensor"), "++-");
  EXPECT_EQ(row("compressed-tensors", "fp8-block"), "+?+");
  EXPECT_EQ(row("compressed-tensors", "fp8-dynamic"), "+++");
  EXPECT_EQ(row("compressed-tensors", "fp8-tensor"), "++-");
  EXPECT_EQ(row("compressed-tensors", "nvfp4"), "+?-");
  EXPECT_EQ(row("compressed-tensors", "nvfp4a16"), "+?-");
  EXPECT_EQ(row("compressed-tensors", "mxfp4"), "+??");
  EXPECT_EQ(row("modelopt", "fp8-tensor"), "+++");
  EXPECT_EQ(row("modelopt", "nvfp4"), "+++");
  EXPECT_EQ(row("modelopt", "nvfp4a16"), "+-+");
  EXPECT_EQ(row("modelopt", "mxfp8"), "+--");
}

TEST(Acceptance, EverySchemeCanBeWrittenInItsDefaultDialects) {
  for (const Scheme& scheme : schemes()) {
    for (const char* wanted : {"", "vllm", "sglang", "trtllm", "all"}) {
      const std::string_view dialect = default_dialect(scheme, wanted);
      EXPECT_FALSE(
          dialect_by_name(dialect).refuses({"m", scheme.format, scheme.activation, 128, 128})
      ) << scheme.name
        << " for " << wanted;
    }
  }
}

TEST(Acceptance, TheSchemesDialectStaysWhereItWillDo) {
  EXPECT_EQ(default_dialect(scheme_by_name("nvfp4"), "all"), "modelopt");
  EXPECT_EQ(default_dialect(scheme_by_name("fp8-block"), "vllm"), "fp8");
  EXPECT_EQ(default_dialect(scheme_by_name("fp8-dynamic"), "all"), "compressed-tensors");
}

TEST(Acceptance, Mixtures) {
  const Scheme* pair[] = {&scheme_by_name("nvfp4"), &scheme_by_name("fp8-tensor")};
  EXPECT_EQ(mixed_acceptance("vllm", "modelopt", pair).verdict, Verdict::kLoads);
  EXPECT_EQ(mixed_acceptance("tensorrt-llm", "modelopt", pair).verdict, Verdict::kLoads);
  EXPECT_EQ(mixed_acceptance("sglang", "modelopt", pair).verdict, Verdict::kRefused);
  EXPECT_EQ(mixed_acceptance("vllm", "fp8", pair).verdict, Verdict::kRefused);
  EXPECT_EQ(mixed_dialect(pair, "trtllm"), "modelopt");
  const Scheme* dynamic[] = {&scheme_by_name("nvfp4"), &scheme_by_name("fp8-dynamic")};
  EXPECT_EQ(mixed_acceptance("vllm", "modelopt", dynamic).verdict, Verdict::kRefused);
  EXPECT_EQ(mixed_dialect(dynamic, "vllm"), "compressed-tensors");
  const Scheme* blocks[] = {&scheme_by_name("mxfp4"), &scheme_by_name("fp8-block")};
  EXPECT_EQ(mixed_dialect(blocks, ""), "compressed-tensors");
}

TEST(Acceptance, TheNearestSchemeIsOneThatLoads) {
  EXPECT_THAT(
      nearest_accepted(scheme_by_name("nvfp4a16"), "all"), HasSubstr("nvfp4 (dialect modelopt)")
  );
  EXPECT_EQ(
      nearest_accepted(scheme_by_name("fp8-channel"), "trtllm"),
      "fp8-dynamic (dialect compressed-tensors)"
  );
  // The same scheme under other names.
  EXPECT_EQ(
      nearest_accepted(scheme_by_name("fp8-tensor"), "trtllm"), "fp8-tensor (dialect modelopt)"
  );
  for (const Scheme& scheme : schemes()) EXPECT_NE(nearest_accepted(scheme, "all"), "");
}

}  // namespace
}  // namespace hone
