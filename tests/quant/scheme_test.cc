#include "quant/scheme.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

TEST(Scheme, Names) {
  EXPECT_EQ(
      scheme_names(),
      "fp8-block, nvfp4, nvfp4a16, fp8-tensor, fp8-channel, fp8-dynamic, mxfp4, mxfp4a16, mxfp8"
  );
  EXPECT_EQ(scheme_by_name("fp8-dynamic").format, Format::kFp8Channel);
  EXPECT_EQ(scheme_by_name("fp8-dynamic").activation, ActivationRule::kFp8Token);
  EXPECT_EQ(scheme_by_name("fp8-tensor").activation, ActivationRule::kFp8Tensor);
  EXPECT_EQ(scheme_by_name("mxfp8").activation, ActivationRule::kMxfp8);
  EXPECT_EQ(scheme_by_name("nvfp4").activation, ActivationRule::kNvfp4);
  EXPECT_EQ(scheme_by_name("nvfp4a16").activation, ActivationRule::kNone);
  EXPECT_EQ(scheme_by_name("nvfp4a16").format, Format::kNvfp4);
  EXPECT_EQ(scheme_by_name("fp8-block").activation, ActivationRule::kFp8Group128);
  EXPECT_EQ(find_scheme("int4"), nullptr);
}

TEST(Scheme, UnknownNamesListTheKnown) {
  try {
    scheme_by_name("int4");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), ::testing::HasSubstr("fp8-block, nvfp4, nvfp4a16"));
  }
  EXPECT_EQ(parse_scale_kind("ue8m0"), ScaleKind::kUe8m0);
  EXPECT_EQ(parse_scale_kind("f32"), ScaleKind::kF32);
  EXPECT_THROW(parse_scale_kind("e8m0"), UsageError);
}

}  // namespace
}  // namespace hone
