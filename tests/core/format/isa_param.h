// Runs the tests of a suite once for each instruction set this CPU has.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "core/device/cpu_isa.h"

namespace hone {

class IsaTest : public testing::TestWithParam<CpuIsa> {
 protected:
  void SetUp() override {
    if (!cpu_supports(GetParam())) GTEST_SKIP() << "this CPU has no " << cpu_isa_name(GetParam());
    set_cpu_isa(GetParam());
  }
  void TearDown() override { set_cpu_isa(std::nullopt); }
};

inline std::string isa_test_name(const testing::TestParamInfo<CpuIsa>& info) {
  return std::string(cpu_isa_name(info.param));
}

#define HONE_INSTANTIATE_ISA(suite) \
  INSTANTIATE_TEST_SUITE_P(, suite, testing::Values(CpuIsa::kAvx2, CpuIsa::kAvx512), isa_test_name)

}  // namespace hone
