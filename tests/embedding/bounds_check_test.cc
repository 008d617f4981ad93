#include "embedding/bounds_check.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class BoundsCheckTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    ids_ = Tensor::From<int32_t>(ctx(), {9, -1, 12, 2, 3, -5});
    offsets_ = Tensor::From<int64_t>(ctx(), {0, 2, 3, 5, 6});
  }
  const std::vector<int64_t> rows_ = {10, 3};
  Tensor ids_, offsets_;  // 2 features, 2 examples
};

TEST_P(BoundsCheckTest, CountsAndMendsInWarning) {
  const BoundsCheckResult r = CheckBounds(ctx(), BoundsCheckMode::kWarning, ids_, offsets_, rows_);
  EXPECT_EQ(r.warnings, 3);
  EXPECT_THAT(r.ids.ToVector<int32_t>(), ElementsAre(9, -1, 0, 2, 0, 0));
  EXPECT_THAT(ids_.ToVector<int32_t>(), ElementsAre(9, -1, 12, 2, 3, -5))
      << "the caller's ids were changed";
}

TEST_P(BoundsCheckTest, MendsSilentlyInIgnoreAndNotAtAllInNone) {
  const BoundsCheckResult ignored =
      CheckBounds(ctx(), BoundsCheckMode::kIgnore, ids_, offsets_, rows_);
  EXPECT_EQ(ignored.warnings, 0);
  EXPECT_THAT(ignored.ids.ToVector<int32_t>(), ElementsAre(9, -1, 0, 2, 0, 0));
  EXPECT_TRUE(
      SameBits(CheckBounds(ctx(), BoundsCheckMode::kNone, ids_, offsets_, rows_).ids, ids_));
}

TEST_P(BoundsCheckTest, FatalNamesTheFinding) {
  EXPECT_THAT([&] { CheckBounds(ctx(), BoundsCheckMode::kFatal, ids_, offsets_, rows_); },
              ThrowsMessage<Error>(HasSubstr(
                  "feature 0, example 1: id 12 at position 2, but the table has 10 rows")));
}

TEST_P(BoundsCheckTest, MendsOffsetsInOrderWithWhatIsAlreadyMended) {
  const Tensor offsets = Tensor::From<int32_t>(ctx(), {-3, 4, 2, 9, 5});
  const BoundsCheckResult r = CheckBounds(ctx(), BoundsCheckMode::kWarning,
                                          Tensor::Zeros(ctx(), {6}, DType::kI64), offsets, rows_);
  EXPECT_THAT(r.offsets.ToVector<int32_t>(), ElementsAre(0, 4, 4, 6, 6));
  EXPECT_EQ(r.warnings, 4);  // the last offset, bags 0, 1, 2
}

TEST_P(BoundsCheckTest, AWrongNumberOfOffsetsIsAnErrorInEveryMode) {
  const Tensor four = offsets_.Rows(0, 4);
  for (const BoundsCheckMode mode :
       {BoundsCheckMode::kFatal, BoundsCheckMode::kWarning, BoundsCheckMode::kIgnore})
    EXPECT_THROW(CheckBounds(ctx(), mode, ids_, four, rows_), Error);
}

TEST_P(BoundsCheckTest, ChecksTheIdsOfFeatures) {
  const Tensor warnings = Tensor::Zeros(ctx(), {1}, DType::kI64);
  const auto check = [&](BoundsCheckMode mode, const std::vector<CheckedIds>& features) {
    return CheckIds(ctx(), mode, ids_, features, warnings);
  };
  EXPECT_TRUE(SameBits(check(BoundsCheckMode::kFatal, {{0, 2, 10, "a"}})[0], ids_));
  EXPECT_THAT(
      [&] {
        check(BoundsCheckMode::kFatal, {{0, 2, 10, "a"}, {2, 6, 3, "b"}});
      },
      ThrowsMessage<Error>(HasSubstr(
          "feature b: id 12 at position 2 of the batch's ids, but its table has 3 rows")));
  const std::vector<Tensor> mended =
      check(BoundsCheckMode::kWarning, {{0, 2, 10, "a"}, {3, 6, 3, "b"}});
  EXPECT_THAT(mended[0].ToVector<int32_t>(), ElementsAre(9, -1, 12, 2, 0, 0));
  EXPECT_EQ(warnings.ToVector<int64_t>()[0], 2);
  // One key, read from two tables: what one has no row for, the other has.
  const std::vector<Tensor> both =
      check(BoundsCheckMode::kIgnore, {{0, 3, 13, "a"}, {0, 3, 5, "b"}});
  EXPECT_THAT(both[0].ToVector<int32_t>(), ElementsAre(9, -1, 12, 2, 3, -5));
  EXPECT_THAT(both[1].ToVector<int32_t>(), ElementsAre(0, -1, 0, 2, 3, -5));
  EXPECT_EQ(warnings.ToVector<int64_t>()[0], 2);
}

TESSERA_INSTANTIATE_DEVICES(BoundsCheckTest);

}  // namespace
}  // namespace tessera
