#include "embedding/managed_collision/mch_managed_collision_module.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/embedding/managed_collision/mch_reference.h"
#include "tests/embedding/managed_collision/raw_ids.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using testing::Admission;
using ::testing::ElementsAre;
using testing::ErrorOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using testing::MchReference;
using testing::RawIds;

constexpr int64_t kNobody = MchReference::kNobody;

class MchTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(MchTest);

std::vector<int64_t> Numbers(const Tensor& column) {
  return column.defined() ? column.ToVector<int64_t>() : std::vector<int64_t>();
}

std::vector<int64_t> Train(Context& ctx, ManagedCollisionModule& module,
                           const std::vector<int64_t>& ids) {
  const std::vector<Tensor> features = {Tensor::From(ctx, ids)};
  return module.Forward(ctx, features, true)[0].ToVector<int64_t>();
}
std::vector<int64_t> Look(Context& ctx, ManagedCollisionModule& module,
                          const std::vector<int64_t>& ids) {
  const std::vector<Tensor> features = {Tensor::From(ctx, ids)};
  return module.Forward(ctx, features, false)[0].ToVector<int64_t>();
}

MCHManagedCollisionModule Five(MchEviction eviction, double decay = 1,
                               AdmissionFilter filter = {}) {
  return MCHManagedCollisionModule(
      {.zch_size = 5, .eviction_policy = {eviction, decay, std::move(filter)}});
}

// The next five are the numbers of TorchRec's own tests (modules/tests/test_mc_modules.py).

TEST_P(MchTest, LfuKeepsWhatCameMostOften) {
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kLfu);
  std::vector<int64_t> first(10, 4);
  first.push_back(5);
  Train(ctx, mch, first);
  auto later = Five(MchEviction::kLfu);
  std::vector<NamedTensor> state;  // as of TorchRec, without a history
  for (const NamedTensor& t : mch.StateDict(ctx))
    if (t.name.starts_with("_mch_") || t.name == "_current_iter_tensor") state.push_back(t);
  later.LoadStateDict(ctx, state);
  Train(ctx, later, {3, 4, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8, 9, 10});
  EXPECT_THAT(Numbers(later.sorted_raw_ids()), ElementsAre(4, 6, 7, 8, kNobody));
  EXPECT_THAT(Numbers(later.counts()), ElementsAre(11, 3, 3, 3, kNobody));
  EXPECT_THAT(Numbers(later.last_access_iter()), IsEmpty());
}

TEST_P(MchTest, LruKeepsWhatCameLast) {
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kLru);
  Train(ctx, mch, {5, 6, 7});
  Train(ctx, mch, {3, 4, 5});
  Train(ctx, mch, {7, 8});
  EXPECT_THAT(Numbers(mch.sorted_raw_ids()), ElementsAre(3, 4, 7, 8, kNobody));
  EXPECT_THAT(Numbers(mch.last_access_iter()), ElementsAre(2, 2, 3, 3, 3));
}

TEST_P(MchTest, DistanceLfuWeighsCountsByAge) {
  Context& ctx = this->ctx();
  auto slow = Five(MchEviction::kDistanceLfu, 1), fast = Five(MchEviction::kDistanceLfu, 10);
  for (auto* mch : {&slow, &fast}) {
    Train(ctx, *mch, {5, 5, 5, 5, 5, 6});
    Train(ctx, *mch, {3, 4});
    Train(ctx, *mch, {7, 8});
  }
  EXPECT_THAT(Numbers(slow.sorted_raw_ids()), ElementsAre(3, 5, 7, 8, kNobody));
  EXPECT_THAT(Numbers(slow.counts()), ElementsAre(1, 5, 1, 1, kNobody));
  EXPECT_THAT(Numbers(slow.last_access_iter()), ElementsAre(2, 1, 3, 3, 3));
  EXPECT_THAT(Numbers(fast.sorted_raw_ids()), ElementsAre(3, 4, 7, 8, kNobody));
  EXPECT_THAT(Numbers(fast.counts()), ElementsAre(1, 1, 1, 1, kNobody));
}

TEST_P(MchTest, EqualScoresBehindASquareRootAreEqual) {
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kDistanceLfu, 0.5);
  Train(ctx, mch, std::vector<int64_t>(12, 2));
  for (int iter = 2; iter < 10; ++iter) Train(ctx, mch, {});
  Train(ctx, mch, std::vector<int64_t>(6, 1));
  Train(ctx, mch, {});
  // 12 / sqrt(12) and 6 / sqrt(3): the first of the two stays.
  Train(ctx, mch, {10, 10, 10, 10, 11, 11, 11, 11, 12, 12, 12, 12});
  EXPECT_THAT(Numbers(mch.sorted_raw_ids()), ElementsAre(1, 10, 11, 12, kNobody));
}

TEST_P(MchTest, TheDynamicThresholdIsAMultipleOfTheMeanCount) {
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kLfu, 1, DynamicThresholdFilter(0.75));
  Train(ctx, mch, {5, 5, 5, 5, 5, 4, 4, 4, 4, 3, 3, 3, 2, 2, 1});
  EXPECT_THAT(Numbers(mch.sorted_raw_ids()), ElementsAre(3, 4, 5, kNobody, kNobody));
  EXPECT_THAT(Numbers(mch.counts()), ElementsAre(3, 4, 5, 0, kNobody));
}

TEST_P(MchTest, IdsThatAFilterRefusesAreNotCountedEither) {
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kLfu, 1, AverageThresholdFilter());
  std::vector<int64_t> first(10, 4);
  first.push_back(5);
  Train(ctx, mch, first);
  EXPECT_THAT(Numbers(mch.sorted_raw_ids()), ElementsAre(4, kNobody, kNobody, kNobody, kNobody));
  Train(ctx, mch, {3, 4, 5, 6, 6, 6, 7, 8, 8, 9, 10});
  EXPECT_THAT(Numbers(mch.sorted_raw_ids()), ElementsAre(4, 6, 8, kNobody, kNobody));
  EXPECT_THAT(Numbers(mch.counts()), ElementsAre(10, 3, 2, 0, kNobody));
}

TEST_P(MchTest, OnlyAnotherIdsRowIsEvicted) {
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kLru);
  const std::vector<int64_t> rows = Train(ctx, mch, {50, 60, 70, 80, 50});
  EXPECT_EQ(rows[0], rows[4]);
  EXPECT_EQ(mch.Evict(ctx).numel(), 0);
  EXPECT_EQ(Train(ctx, mch, {60, 70, 80, 90})[3], rows[0]);
  EXPECT_THAT(mch.Evict(ctx).ToVector<int64_t>(), ElementsAre(rows[0]));
  EXPECT_EQ(mch.Evict(ctx).numel(), 0);
  EXPECT_THAT(Look(ctx, mch, {50, 60, kNobody}), ElementsAre(4, rows[1], 4));
}

TEST_P(MchTest, LookingChangesNothing) {
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kDistanceLfu);
  Train(ctx, mch, {1, 2, 3});
  const auto before = mch.StateDict(ctx);
  Look(ctx, mch, {7, 7, 7, 8, 9, 1});
  const auto after = mch.StateDict(ctx);
  ASSERT_EQ(after.size(), before.size());
  for (size_t i = 0; i < before.size(); ++i)
    EXPECT_TRUE(SameBits(before[i].tensor, after[i].tensor)) << before[i].name;
}

TEST_P(MchTest, MissesMayBeHashedBehindTheList) {
  Context& ctx = this->ctx();
  MCHManagedCollisionModule mch({.zch_size = 4,
                                 .input_hash_size = 100,
                                 .input_hash_func = [](int64_t id, int64_t n) { return id % n; },
                                 .mch_size = 3,
                                 .mch_hash_func = [](int64_t id, int64_t n) { return id % n; }});
  EXPECT_EQ(mch.output_size(), 7);
  EXPECT_EQ(mch.input_size(), 100);
  const int64_t row = Train(ctx, mch, {105})[0];
  EXPECT_THAT(Look(ctx, mch, {5, 205, 7, 108}), ElementsAre(row, row, 4 + 1, 4 + 2));
}

struct Case {
  MchEviction eviction;
  double decay;
  Admission admission;
  int64_t interval;
};

AdmissionFilter FilterOf(Admission admission) {
  if (admission == Admission::kDynamic) return DynamicThresholdFilter(1.3);
  if (admission == Admission::kAverage) return AverageThresholdFilter();
  if (admission == Admission::kProbabilistic) return ProbabilisticThresholdFilter(0.3);
  return {};
}

class MchSweep : public testing::DeviceTest {
 protected:
  // Half way, the module is replaced by one that was made from its state.
  void ExpectTheReferencesRows(const Case& c, int steps) {
    constexpr int64_t kRows = 17;
    const MchOptions options = {.zch_size = kRows,
                                .eviction_policy = {c.eviction, c.decay, FilterOf(c.admission)},
                                .eviction_interval = c.interval};
    auto mch = std::make_unique<MCHManagedCollisionModule>(options);
    MchReference reference{c.eviction, c.decay, c.interval,           c.admission,
                           1.3,        0.3,     ctx().random().seed()};
    reference.sequence = ctx().random().next_sequence();
    reference.Begin(kRows);
    RawIds random(5);
    for (int step = 0; step < steps; ++step) {
      const auto batch = random.Batch(2, 14, step / 40);
      const std::vector<Tensor> ids = {Tensor::From(ctx(), batch[0]),
                                       Tensor::From(ctx(), batch[1])};
      const bool training = step % 7 != 6;
      if (step == steps / 2) {
        auto resumed = std::make_unique<MCHManagedCollisionModule>(options);
        resumed->LoadStateDict(ctx(), mch->StateDict(ctx()));
        mch = std::move(resumed);
      }
      const std::vector<Tensor> rows = mch->Forward(ctx(), ids, training);
      if (training) reference.Train(batch);
      for (size_t f = 0; f < 2; ++f)
        ASSERT_EQ(Numbers(rows[f]), reference.RowsOf(batch[f])) << step;
      ASSERT_EQ(Numbers(mch->sorted_raw_ids()), reference.Ids()) << step;
      ASSERT_EQ(Numbers(mch->remapped_ids_mapping()), reference.Rows()) << step;
      if (step % 3 != 0) continue;
      const std::vector<int64_t> evicted(reference.evicted.begin(), reference.evicted.end());
      ASSERT_EQ(Numbers(mch->Evict(ctx())), evicted) << step;
      reference.evicted.clear();
    }
  }
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  for (const MchEviction eviction :
       {MchEviction::kLfu, MchEviction::kLru, MchEviction::kDistanceLfu})
    for (const Admission admission :
         {Admission::kAll, Admission::kDynamic, Admission::kAverage, Admission::kProbabilistic})
      cases.push_back({eviction, 1, admission, 1 + static_cast<int64_t>(admission)});
  cases.push_back({MchEviction::kDistanceLfu, 2, Admission::kAll, 3});
  cases.push_back({MchEviction::kDistanceLfu, 0.5, Admission::kAll, 2});
  cases.push_back({MchEviction::kLru, 0.5, Admission::kAll, 2});
  return cases;
}

TEST_P(MchSweep, TenThousandRandomStepsEqualTheReference) {
  const bool all = on_cpu() || std::getenv("TESSERA_TEST_ALL") != nullptr;
  const std::vector<Case> cases = Cases();
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(i);
    ExpectTheReferencesRows(cases[i], all ? 10000 : 60);
  }
}

TESSERA_INSTANTIATE_DEVICES(MchSweep);

// Its count is i64, and its rows may be cut for ranks.
TEST_P(MchTest, StateOfTorchRecIsTaken) {
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kLfu), other = Five(MchEviction::kLfu);
  Train(ctx, mch, {1, 2});
  std::vector<NamedTensor> state = mch.StateDict(ctx);
  for (NamedTensor& t : state)
    if (t.name == "_current_iter_tensor") t.tensor = t.tensor.To(ctx, DType::kI64);
  state.push_back({"_output_segments_tensor", Tensor::Full(ctx, {1025}, -1, DType::kI64)});
  other.LoadStateDict(ctx, state);
  const std::vector<NamedTensor> loaded = other.StateDict(ctx), saved = mch.StateDict(ctx);
  for (size_t i = 0; i < saved.size(); ++i)
    EXPECT_TRUE(SameBits(loaded[i].tensor, saved[i].tensor)) << saved[i].name;
}

TEST_P(MchTest, StateThatMakesNoSenseIsRefused) {
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kLfu);
  Train(ctx, mch, {1, 2});
  const auto with = [&](const std::string& name, const Tensor& tensor) {
    std::vector<NamedTensor> state = mch.StateDict(ctx);
    for (NamedTensor& t : state)
      if (t.name == name) t.tensor = tensor;
    return ErrorOf([&] { mch.LoadStateDict(ctx, state); });
  };
  EXPECT_EQ(with("", {}), "");
  EXPECT_THAT(with("_mch_counts", Tensor::From<int64_t>(ctx, {1, 2})), HasSubstr("_mch_counts is"));
  EXPECT_THAT(with("_mch_sorted_raw_ids", Tensor::From<int64_t>(ctx, {2, 1, 3, 4, kNobody})),
              HasSubstr("id 1 after 2"));
  EXPECT_THAT(with("_mch_sorted_raw_ids", Tensor::From<int64_t>(ctx, {1, 2, 3, 4, 5})),
              HasSubstr("somebody's"));
  EXPECT_THAT(with("_mch_remapped_ids_mapping", Tensor::From<int64_t>(ctx, {0, 0, 2, 3, 4})),
              HasSubstr("_mch_remapped_ids_mapping"));
  EXPECT_THAT(with("_evicted_emb_indices", Tensor::From<int64_t>(ctx, {5})), HasSubstr("row 5"));
  std::vector<NamedTensor> state = mch.StateDict(ctx);
  state.push_back({"_mch_last_access_iter", Tensor::From<int64_t>(ctx, {1})});
  EXPECT_THAT(ErrorOf([&] { mch.LoadStateDict(ctx, state); }), HasSubstr("there is no"));
}

TEST_P(MchTest, WhatCannotBeRememberedIsRefused) {
  Context& ctx = this->ctx();
  MCHManagedCollisionModule mch({.zch_size = 4, .eviction_interval = 2, .name = "t"});
  for (int i = 0; i < 3; ++i) Train(ctx, mch, {1, 2});
  const auto with = [&](const std::string& name, const std::vector<int64_t>& values) {
    std::vector<NamedTensor> state = mch.StateDict(ctx);
    for (NamedTensor& t : state)
      if (t.name == name) t.tensor = Tensor::From(ctx, values);
    return ErrorOf([&] { mch.LoadStateDict(ctx, state); });
  };
  EXPECT_EQ(with("", {}), "");
  EXPECT_THAT(with("_mch_counts", {4, -1, 0, kNobody}),
              HasSubstr("state of MCH t: slot 1 of _mch_counts: expected at least 0, got -1"));
  EXPECT_THAT(with("_mch_last_access_iter", {3, 2, 4, 2}),
              HasSubstr("state of MCH t: slot 2 of _mch_last_access_iter: expected 0 to 3, got 4"));
  EXPECT_THAT(with("_mch_last_access_iter", {3, 2, 0, INT64_MIN}), HasSubstr("slot 3"));
  EXPECT_THAT(with("_history_last_access_iter", {3, 4}),
              HasSubstr("slot 1 of _history_last_access_iter: expected 3 to 3, got 4"));
  EXPECT_THAT(with("_history_last_access_iter", {3, 2}), HasSubstr("expected 3 to 3, got 2"));
}

TEST_P(MchTest, OptionsThatMakeNoSenseAreRefused) {
  EXPECT_THAT(ErrorOf([] { MCHManagedCollisionModule({.zch_size = 0}); }), HasSubstr("zch_size"));
  EXPECT_THAT(ErrorOf([] { MCHManagedCollisionModule({.zch_size = 2, .mch_size = 2}); }),
              HasSubstr("mch_hash_func"));
  EXPECT_THAT(ErrorOf([] { Five(MchEviction::kLru, 0); }), HasSubstr("decay_exponent 0"));
  EXPECT_THAT(ErrorOf([] { ProbabilisticThresholdFilter(1.5); }), HasSubstr("1.5"));
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kLru);
  const std::vector<Tensor> floats = {Tensor::Full(ctx, {2}, 1)};
  EXPECT_THAT(ErrorOf([&] { mch.Forward(ctx, floats, false); }), HasSubstr("i32 or i64"));
}

TEST_P(MchTest, AHashThatLeavesTheResidualRowsIsRefused) {
  MCHManagedCollisionModule mch({.zch_size = 4,
                                 .mch_size = 2,
                                 .mch_hash_func = [](int64_t, int64_t) -> int64_t { return 99; },
                                 .name = "t"});
  const std::vector<Tensor> ids = {Tensor::From<int64_t>(ctx(), {7})};
  EXPECT_EQ(ErrorOf([&] { mch.Forward(ctx(), ids, false); }),
            "MCH t: mch_hash_func gives row 99 for id 7; expected 0 to 1");
}

TEST_P(MchTest, AHistoryBeginsWithTheFirstIds) {
  Context& ctx = this->ctx();
  auto mch = Five(MchEviction::kLfu);
  Train(ctx, mch, {});
  EXPECT_EQ(mch.NumIdsSync(ctx), 0);
  EXPECT_THAT(Train(ctx, mch, {7, 7}), ElementsAre(3, 3));
  EXPECT_EQ(mch.NumIdsSync(ctx), 1);
}

}  // namespace
}  // namespace tessera
