#include "embedding/bounds_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class BoundsCheckTest : public ::testing::Test {
 protected:
  Context ctx_;
  const std::vector<int64_t> rows_ = {10, 3};
  const Tensor ids_ = Tensor::From<int32_t>(ctx_, {9, -1, 12, 2, 3, -5});
  const Tensor offsets_ = Tensor::From<int64_t>(ctx_, {0, 2, 3, 5, 6});  // 2 features, 2 examples
};

TEST_F(BoundsCheckTest, CountsAndMendsInWarning) {
  const BoundsCheckResult r = CheckBounds(ctx_, BoundsCheckMode::kWarning, ids_, offsets_, rows_);
  EXPECT_EQ(r.warnings, 3);
  EXPECT_THAT(r.ids.ToVector<int32_t>(), ElementsAre(9, -1, 0, 2, 0, 0));
  EXPECT_THAT(ids_.ToVector<int32_t>(), ElementsAre(9, -1, 12, 2, 3, -5))
      << "the caller's ids were changed";
}

TEST_F(BoundsCheckTest, MendsSilentlyInIgnoreAndNotAtAllInNone) {
  const BoundsCheckResult ignored =
      CheckBounds(ctx_, BoundsCheckMode::kIgnore, ids_, offsets_, rows_);
  EXPECT_EQ(ignored.warnings, 0);
  EXPECT_THAT(ignored.ids.ToVector<int32_t>(), ElementsAre(9, -1, 0, 2, 0, 0));
  EXPECT_TRUE(SameBits(CheckBounds(ctx_, BoundsCheckMode::kNone, ids_, offsets_, rows_).ids, ids_));
}

TEST_F(BoundsCheckTest, FatalNamesTheFinding) {
  EXPECT_THAT([&] { CheckBounds(ctx_, BoundsCheckMode::kFatal, ids_, offsets_, rows_); },
              ThrowsMessage<Error>(HasSubstr(
                  "feature 0, example 1: id 12 at position 2, but the table has 10 rows")));
}

TEST_F(BoundsCheckTest, MendsOffsetsInOrderWithWhatIsAlreadyMended) {
  const Tensor offsets = Tensor::From<int32_t>(ctx_, {-3, 4, 2, 9, 5});
  const BoundsCheckResult r = CheckBounds(ctx_, BoundsCheckMode::kWarning,
                                          Tensor::Zeros(ctx_, {6}, DType::kI64), offsets, rows_);
  EXPECT_THAT(r.offsets.ToVector<int32_t>(), ElementsAre(0, 4, 4, 6, 6));
  EXPECT_EQ(r.warnings, 4);  // the last offset, bags 0, 1, 2
}

TEST_F(BoundsCheckTest, AWrongNumberOfOffsetsIsAnErrorInEveryMode) {
  const Tensor four = offsets_.Rows(0, 4);
  for (const BoundsCheckMode mode :
       {BoundsCheckMode::kFatal, BoundsCheckMode::kWarning, BoundsCheckMode::kIgnore})
    EXPECT_THROW(CheckBounds(ctx_, mode, ids_, four, rows_), Error);
}

TEST_F(BoundsCheckTest, ChecksOneFeaturesIds) {
  EXPECT_TRUE(SameBits(CheckIds(ctx_, BoundsCheckMode::kFatal, ids_, 0, 2, 10, "a").ids, ids_));
  EXPECT_THAT([&] { CheckIds(ctx_, BoundsCheckMode::kFatal, ids_, 2, 6, 3, "b"); },
              ThrowsMessage<Error>(HasSubstr(
                  "feature b: id 12 at position 2 of the batch's ids, but its table has 3 rows")));
  const BoundsCheckResult r = CheckIds(ctx_, BoundsCheckMode::kWarning, ids_, 3, 6, 3, "b");
  EXPECT_EQ(r.warnings, 2);
  EXPECT_THAT(r.ids.ToVector<int32_t>(), ElementsAre(9, -1, 12, 2, 0, 0));
}

}  // namespace
}  // namespace tessera
