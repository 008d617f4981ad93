#include "embedding/lookup/bounds_check.h"

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
  EXPECT_THAT(
      [&] { CheckBounds(ctx(), BoundsCheckMode::kFatal, ids_, offsets_, rows_); },
      ThrowsMessage<Error>(HasSubstr(
          "feature 0, example 1: id 12 at position 2, but the table has 10 rows (3 findings "
          "in all)")));
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

TEST_P(BoundsCheckTest, CountsTheFindingsOfAWholeBatchByFeature) {
  const BoundsCheckLog log(ctx(), {"a", "b"});
  CheckBounds(ctx(), BoundsCheckMode::kWarning, ids_, offsets_, rows_, log);
  BoundsCheckReport report = log.ReportSync();
  EXPECT_EQ(report.features[0].bad_ids, 1);
  EXPECT_THAT(report.features[0].examples, ElementsAre(BadId{1, 12}));
  EXPECT_EQ(report.features[1].bad_ids, 2);
  EXPECT_THAT(report.features[1].examples, ElementsAre(BadId{0, 3}, BadId{1, -5}));
  CheckBounds(ctx(), BoundsCheckMode::kWarning, ids_, Tensor::From<int64_t>(ctx(), {0, 2, 3, 1, 9}),
              rows_, log);
  report = log.ReportSync();
  EXPECT_EQ(report.features[0].bad_offsets, 0);
  EXPECT_EQ(report.features[1].bad_offsets, 2);  // 3 to 1, and the last one
  // Bag 2 is empty then, and bag 3 has 2, 3, -5.
  EXPECT_THAT(report.features[1].examples,
              ElementsAre(BadId{0, 3}, BadId{1, -5}, BadId{1, 3}, BadId{1, -5}));
  EXPECT_EQ(report.findings(), 2 * 3 + 2);
  log.Clear(ctx());
  EXPECT_EQ(log.ReportSync().findings(), 0);
}

class CheckIdsTest : public BoundsCheckTest {
 protected:
  void SetUp() override {
    BoundsCheckTest::SetUp();
    if (IsSkipped()) return;
    log_ = {BoundsCheckLog(ctx(), {"a"}), BoundsCheckLog(ctx(), {"a", "b"})};
  }
  std::vector<Tensor> Check(BoundsCheckMode mode, const std::vector<CheckedIds>& features) {
    return CheckIds(ctx(), mode, ids_, offsets_, features, log(features.size()));
  }
  const BoundsCheckLog& log(size_t features) { return log_[features - 1]; }

 private:
  std::vector<BoundsCheckLog> log_;
};

TEST_P(CheckIdsTest, FatalNamesFeatureIdBagAndCount) {
  EXPECT_TRUE(SameBits(Check(BoundsCheckMode::kFatal, {{0, 2, 10, "a", 0, 1}})[0], ids_));
  EXPECT_THAT(
      [&] {
        Check(BoundsCheckMode::kFatal, {{0, 2, 10, "a", 0, 1}, {2, 6, 3, "b", 1, 3}});
      },
      ThrowsMessage<Error>(HasSubstr(
          "feature b: id 12 at position 2 of the batch's ids, but its table has 3 rows (in bag 0; "
          "bad ids of the feature: 3)")));
}

TEST_P(CheckIdsTest, MendsACopyAndCountsByFeature) {
  const std::vector<Tensor> mended =
      Check(BoundsCheckMode::kWarning, {{0, 2, 10, "a", 0, 1}, {3, 6, 3, "b", 2, 2}});
  EXPECT_THAT(mended[0].ToVector<int32_t>(), ElementsAre(9, -1, 12, 2, 0, 0));
  const BoundsCheckReport report = log(2).ReportSync();
  EXPECT_EQ(report.features[0].bad_ids, 0);
  EXPECT_EQ(report.features[1].bad_ids, 2);
  EXPECT_THAT(report.features[1].examples, ElementsAre(BadId{0, 3}, BadId{1, -5}));
  EXPECT_EQ(ToString(report),
            "feature b: 2 bad ids, 0 bad offsets; id 3 in bag 0, id -5 in bag 1\n");
}

TEST_P(CheckIdsTest, OneKeyReadFromTwoTables) {
  // One table has no row for an id that is legal for the other.
  const std::vector<CheckedIds> features = {{0, 3, 13, "a", 0, 2}, {0, 3, 5, "b", 0, 2}};
  for (const BoundsCheckMode mode : {BoundsCheckMode::kIgnore, BoundsCheckMode::kWarning}) {
    const std::vector<Tensor> both = Check(mode, features);
    EXPECT_THAT(both[0].ToVector<int32_t>(), ElementsAre(9, -1, 12, 2, 3, -5));
    EXPECT_THAT(both[1].ToVector<int32_t>(), ElementsAre(0, -1, 0, 2, 3, -5));
    EXPECT_EQ(log(2).ReportSync().findings(), mode == BoundsCheckMode::kWarning ? 2 : 0);
  }
  EXPECT_THAT(log(2).ReportSync().features[1].examples, ElementsAre(BadId{0, 9}, BadId{1, 12}));
}

TEST_P(CheckIdsTest, EachFeatureHasItsMode) {
  using enum BoundsCheckMode;
  const auto features = [](BoundsCheckMode of_b) {
    return std::vector<CheckedIds>{{0, 3, 10, "a", 0, 2}, {0, 6, 5, "b", 0, 4, of_b}};
  };
  const std::vector<Tensor> ignored = Check(kWarning, features(kIgnore));
  EXPECT_THAT(ignored[0].ToVector<int32_t>(), ElementsAre(9, -1, 0, 2, 3, -5));
  EXPECT_THAT(ignored[1].ToVector<int32_t>(), ElementsAre(0, -1, 0, 2, 3, 0));
  EXPECT_EQ(log(2).ReportSync().features[0].bad_ids, 1);
  EXPECT_EQ(log(2).ReportSync().features[1].bad_ids, 0);
  EXPECT_TRUE(SameBits(Check(kNone, features(kNone))[1], ids_));
  EXPECT_TRUE(SameBits(Check(kIgnore, features(kNone))[1], ids_));
  EXPECT_THAT([&] { Check(kWarning, features(kFatal)); },
              ThrowsMessage<Error>(HasSubstr("feature b: id 9 at position 0")));
  EXPECT_EQ(log(2).ReportSync().features[0].bad_ids, 1);  // nothing was counted before that
}

TEST_P(CheckIdsTest, KeepsTheFirstExamplesOfAllBatches) {
  // Bags of 40 ids with empty ones between them; every 30th id is bad.
  std::vector<int64_t> ids(400), offsets;
  for (int64_t i = 0; i < 400; ++i) ids[static_cast<size_t>(i)] = i % 30 == 29 ? 1000 + i : 1;
  for (int64_t b = 0; b < 10; ++b) offsets.insert(offsets.end(), {b * 40, b * 40});
  offsets.push_back(400);
  const Tensor batch = Tensor::From(ctx(), ids), bags = Tensor::From(ctx(), offsets);
  const BoundsCheckLog one(ctx(), {"a"});
  const auto check = [&](int64_t first_bag, int64_t bags_of) {
    const CheckedIds feature = {first_bag * 20, (first_bag + bags_of) * 20, 10, "a", first_bag,
                                bags_of};
    CheckIds(ctx(), BoundsCheckMode::kWarning, batch, bags, {&feature, 1}, one);
  };
  check(0, 2);    // ids 0 … 39
  check(0, 0);    // none
  check(10, 10);  // ids 200 … 399
  check(0, 20);
  const FeatureFindings found = one.ReportSync().features[0];
  EXPECT_EQ(found.bad_ids, 1 + 7 + 13);
  EXPECT_THAT(found.examples,
              ElementsAre(BadId{1, 1029}, BadId{1, 1209}, BadId{1, 1239}, BadId{3, 1269},
                          BadId{5, 1299}, BadId{7, 1329}, BadId{7, 1359}, BadId{9, 1389}));
  EXPECT_THAT(ToString(one.ReportSync()), HasSubstr("id 1389 in bag 9, …"));
}

TEST_P(CheckIdsTest, RefusesALogOfOtherFeatures) {
  const CheckedIds feature = {0, 2, 10, "a", 0, 1};
  EXPECT_THROW(CheckIds(ctx(), BoundsCheckMode::kWarning, ids_, offsets_, {&feature, 1}, log(2)),
               Error);
}

TESSERA_INSTANTIATE_DEVICES(BoundsCheckTest);
TESSERA_INSTANTIATE_DEVICES(CheckIdsTest);

}  // namespace
}  // namespace tessera
