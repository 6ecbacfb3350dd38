#include "core/device/cpu_isa.h"

#include <gtest/gtest.h>

#include "core/base/error.h"

namespace hone {
namespace {

TEST(CpuIsaTest, TheTestsRunOnACpuThatHoneSupports) {
  EXPECT_TRUE(cpu_supports(CpuIsa::kAvx2));
  EXPECT_NO_THROW(require_avx2());
}

TEST(CpuIsaTest, TheWidestIsChosenUnlessOverridden) {
  const CpuIsa widest = cpu_supports(CpuIsa::kAvx512) ? CpuIsa::kAvx512 : CpuIsa::kAvx2;
  EXPECT_EQ(cpu_isa(), widest);
  set_cpu_isa(CpuIsa::kAvx2);
  EXPECT_EQ(cpu_isa(), CpuIsa::kAvx2);
  EXPECT_EQ(by_isa(2, 512), 2);
  set_cpu_isa(std::nullopt);
  EXPECT_EQ(cpu_isa(), widest);
  if (cpu_supports(CpuIsa::kAvx512)) {
    EXPECT_EQ(by_isa(2, 512), 512);
  } else {
    EXPECT_THROW(set_cpu_isa(CpuIsa::kAvx512), UsageError);
    EXPECT_EQ(by_isa(2, 512), 2);
  }
}

TEST(CpuIsaTest, Names) {
  EXPECT_EQ(cpu_isa_name(CpuIsa::kAvx2), "avx2");
  EXPECT_EQ(cpu_isa_name(CpuIsa::kAvx512), "avx512");
}

}  // namespace
}  // namespace hone
