#include "runtime/model/schema/parallel.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

TEST(Parallel, OneMatrixOfEachPairIsCutAlongEachSide) {
  for (const Role role :
       {Role::kAttnQ,
        Role::kAttnK,
        Role::kAttnV,
        Role::kMlpGate,
        Role::kMlpUp,
        Role::kMoeGate,
        Role::kMoeUp,
        Role::kAttnQB,
        Role::kAttnKvB}) {
    EXPECT_TRUE(is_column_parallel(role)) << role_name(role);
    EXPECT_FALSE(is_row_parallel(role)) << role_name(role);
  }
  for (const Role role : {Role::kAttnO, Role::kMlpDown, Role::kMoeDown}) {
    EXPECT_TRUE(is_row_parallel(role)) << role_name(role);
    EXPECT_FALSE(is_column_parallel(role)) << role_name(role);
  }
}

TEST(Parallel, WhatIsCopiedIsCutNowhere) {
  for (const Role role :
       {Role::kAttnQA, Role::kAttnKvA, Role::kMoeRouter, Role::kNorm, Role::kOther}) {
    EXPECT_FALSE(is_column_parallel(role)) << role_name(role);
    EXPECT_FALSE(is_row_parallel(role)) << role_name(role);
  }
}

}  // namespace
}  // namespace hone
