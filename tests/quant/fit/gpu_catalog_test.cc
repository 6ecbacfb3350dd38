#include "quant/fit/gpu_catalog.h"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

std::string error_of(const char* text) {
  try {
    (void)parse_gpus(text);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "";
}

TEST(GpuCatalog, BytesAsDriversReportThem) {
  EXPECT_EQ(parse_gpus("h100").gpu.bytes(), 85'520'809'984);
  EXPECT_EQ(parse_gpus("h200").gpu.bytes(), 150'754'820'096);
  EXPECT_EQ(parse_gpus("b300").gpu.bytes(), 288'400'343'040);
  EXPECT_EQ(parse_gpus("mi300x").gpu.bytes(), 206'141'652'992);
}

TEST(GpuCatalog, CountsOnEitherSide) {
  for (const char* text : {"h100x8", "8xh100", "H100X8", "h-100x8"}) {
    const GpuSet set = parse_gpus(text);
    EXPECT_EQ(set.gpu.name, "h100") << text;
    EXPECT_EQ(set.count, 8) << text;
  }
  EXPECT_EQ(parse_gpus("h100").count, 1);
  EXPECT_EQ(parse_gpus("mi300xx8").count, 8);
  EXPECT_EQ(parse_gpus("8xmi300x").gpu.name, "mi300x");
  EXPECT_EQ(parse_gpus("A100_40G x 2").count, 1 + 1);
  EXPECT_EQ(parse_gpus("rtx-4090x2").gpu.name, "rtx-4090");
}

TEST(GpuCatalog, RefusesWhatItDoesNotKnow) {
  const std::string unknown = error_of("k80x2");
  EXPECT_THAT(unknown, HasSubstr("unknown GPU \"k80x2\""));
  for (const Gpu& gpu : gpu_catalog()) EXPECT_THAT(unknown, HasSubstr(std::string(gpu.name)));
  EXPECT_THAT(unknown, HasSubstr("--gpu-memory"));
  EXPECT_THAT(error_of(""), HasSubstr("unknown GPU"));
  EXPECT_THAT(error_of("h100x0"), HasSubstr("expected 1 to 4096"));
  EXPECT_THAT(error_of("h100x5000"), HasSubstr("expected 1 to 4096"));
  EXPECT_THAT(error_of("h100x-1"), HasSubstr("expected 1 to 4096"));
  EXPECT_THAT(error_of("h100x99999999999999999999"), HasSubstr("unknown GPU"));
  EXPECT_THAT(error_of("h100x8x"), HasSubstr("unknown GPU"));
}

TEST(GpuCatalog, NamesAreUniqueAndSizesPlausible) {
  std::set<std::string_view> names;
  for (const Gpu& gpu : gpu_catalog()) {
    EXPECT_TRUE(names.insert(gpu.name).second) << gpu.name;
    EXPECT_GE(gpu.memory_mib, 15'000) << gpu.name;
    EXPECT_LE(gpu.memory_mib, 300'000) << gpu.name;
  }
}

}  // namespace
}  // namespace hone
