#include "core/base/error.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

template <typename E, typename F>
std::string message_of(F&& call) {
  try {
    call();
  } catch (const E& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(Error, ChecksThrowTheirClassWithTheFormattedMessage) {
  EXPECT_EQ(message_of<UsageError>([] { require(false, "n is {}", 3); }), "n is 3");
  EXPECT_EQ(message_of<DataError>([] { require_data(false, "{}: bad", "f"); }), "f: bad");
  EXPECT_EQ(message_of<InternalError>([] { check(false, "broken"); }), "broken");
  EXPECT_NO_THROW(require(true, "unused {}", 1));
  EXPECT_NO_THROW(require_data(true, "unused"));
  EXPECT_NO_THROW(check(true, "unused"));
}

TEST(Error, ClassesShareOneBaseAndAreNotEachOther) {
  EXPECT_THROW(require(false, "x"), Error);
  EXPECT_THROW(throw DeviceError("cudaMalloc"), Error);
  EXPECT_EQ(
      message_of<DataError>([] {
        try {
          require(false, "x");
        } catch (const UsageError&) {
        }
      }),
      "nothing was thrown"
  );
}

TEST(Error, DcheckFollowsTheBuild) {
  if (kDcheck) {
    EXPECT_THROW(dcheck(false, "x"), InternalError);
  } else {
    EXPECT_NO_THROW(dcheck(false, "x"));
  }
}

}  // namespace
}  // namespace hone
