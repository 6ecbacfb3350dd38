#include "quant/fit/weight_format.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"
#include "quant/scheme.h"

namespace hone {
namespace {

int64_t bytes(std::string_view name, int64_t rows, int64_t cols) {
  return weight_format_by_name(name).bytes(rows, cols);
}

// Sizes by hand from docs/formats.md.
TEST(WeightFormat, CountsCodesAndScales) {
  EXPECT_EQ(bytes("bf16", 576, 7168), 576 * 7168 * 2);
  EXPECT_EQ(bytes("fp8-tensor", 576, 7168), 576 * 7168 + 8);
  EXPECT_EQ(bytes("fp8-channel", 576, 7168), 576 * 7168 + 576 * 4);
  // DeepSeek-V3's kv_a_proj_with_mqa: scales [5, 56], the last block row half full.
  EXPECT_EQ(bytes("fp8-block", 576, 7168), 576 * 7168 + 5 * 56 * 4);
  EXPECT_EQ(bytes("mxfp8", 576, 7168), 576 * 7168 + 576 * 224);
  EXPECT_EQ(bytes("nvfp4", 576, 7168), 576 * 3584 + 576 * 448 + 8);
  EXPECT_EQ(bytes("nvfp4a16", 576, 7168), 576 * 3584 + 576 * 448 + 4);
  EXPECT_EQ(bytes("mxfp4", 576, 7168), 576 * 3584 + 576 * 224);
  EXPECT_EQ(bytes("mxfp4a16", 576, 7168), bytes("mxfp4", 576, 7168));
  EXPECT_EQ(bytes("fp8-dynamic", 576, 7168), bytes("fp8-channel", 576, 7168));
}

TEST(WeightFormat, ColumnsThatDoNotDivideStayBf16) {
  EXPECT_EQ(bytes("nvfp4", 4, 24), 4 * 24 * 2);
  EXPECT_EQ(bytes("mxfp4", 4, 48), 4 * 48 * 2);
  EXPECT_EQ(bytes("fp8-block", 4, 24), 4 * 24 + 4);
}

TEST(WeightFormat, EverySchemeThatIsWrittenCanBeSized) {
  for (const Scheme& scheme : schemes()) {
    EXPECT_NO_THROW((void)weight_format_by_name(scheme.name)) << scheme.name;
  }
  try {
    (void)weight_format_by_name("int3");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("\"int3\"; known: bf16, fp8-tensor"));
  }
}

}  // namespace
}  // namespace hone
