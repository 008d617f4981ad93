#include "runtime/base/check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Check, ComparisonsSayBothValuesAndWhere) {
  const int64_t rows = 3;
  EXPECT_NO_THROW(TESSERA_CHECK_EQ(rows, 3));
  EXPECT_THAT([&] { TESSERA_CHECK_LT(rows, 2, "table {}", std::string("t_user")); },
              ThrowsMessage<Error>(AllOf(HasSubstr("table t_user: expected below 2, got 3"),
                                         HasSubstr("check_test.cc:"))));
}

TEST(Check, MessagesTakeTheFieldsOfFmt) {
  EXPECT_EQ(Format("{} {:.2f} {} {} {}", "a", 1.5, true, uint8_t{7}, 'c'), "a 1.50 true 7 c");
  EXPECT_THAT([] { TESSERA_CHECK(1 > 2); }, ThrowsMessage<Error>(HasSubstr("expected 1 > 2")));
  EXPECT_THAT([] { TESSERA_FAIL("no {}", "way"); }, ThrowsMessage<Error>(HasSubstr("no way")));
}

TEST(Check, OperandsAreEvaluatedOnce) {
  int calls = 0;
  TESSERA_CHECK_EQ(++calls, 1);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace tessera
