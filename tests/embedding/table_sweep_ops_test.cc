// The ops of rules beside the update of touched rows: sweeps over whole tables, the largest
// counter, the decay that rows owe.
#include <gtest/gtest.h>

#include "embedding/update/update.h"
#include "tests/testing/devices.h"
#include "tests/testing/random_batch.h"
#include "tests/testing/update_tables.h"

namespace tessera {
namespace {

using testing::BatchShape;
using testing::RandomBatch;
using testing::UpdateTables;

class TableSweepOpsTest : public testing::DeviceTest {
 protected:
  std::vector<float> Host(const Tensor& tensor) {
    return tensor.To(ctx(), DType::kF32).ToVector<float>();
  }
  static float Rounded(float value, DType type) {
    if (type == DType::kF16) return static_cast<float>(Half(value));
    if (type == DType::kBF16) return static_cast<float>(BFloat16(value));
    return value;
  }
};

TEST_P(TableSweepOpsTest, TheSecondHalfFollowsTheFirst) {
  for (const DType type : {DType::kF32, DType::kF16, DType::kBF16}) {
    const BatchShape shape{.dims = {6, 8}, .rows = 5, .row_type = type};
    const std::vector<AnyRule> rules = {
        EmaInPlaceRowwiseAdagrad{.step_ema = 2, .step_ema_coef = 0.25f}, Sgd{}};
    RandomBatch batch(ctx(), shape);
    const UpdateTables tables(ctx(), batch, shape, rules);
    const std::vector<float> before = Host(tables.weight(0)), other = Host(tables.weight(1));
    SweepTables(ctx(), tables.tables(), 3);
    EXPECT_EQ(Host(tables.weight(0)), before);
    SweepTables(ctx(), tables.tables(), 4);
    const std::vector<float> after = Host(tables.weight(0));
    for (size_t i = 0; i < after.size(); ++i) {
      const bool leads = i % 6 < 3;
      const float expected =
          leads ? before[i] : Rounded(before[i] + 0.25f * (before[i - 3] - before[i]), type);
      EXPECT_EQ(after[i], expected) << ToString(type) << ", element " << i;
    }
    EXPECT_EQ(Host(tables.weight(1)), other);
  }
}

TEST_P(TableSweepOpsTest, HalvesNeedAnEvenDim) {
  const BatchShape shape{.dims = {5}, .rows = 5};
  const std::vector<AnyRule> rules = {EmaInPlaceRowwiseAdagrad{.step_ema = 1}};
  RandomBatch batch(ctx(), shape);
  const UpdateTables tables(ctx(), batch, shape, rules);
  EXPECT_THROW(SweepTables(ctx(), tables.tables(), 1), Error);
}

TEST_P(TableSweepOpsTest, TheSlowCopyFollowsAndTakesOver) {
  for (const EnsembleStepMode mode : {EnsembleStepMode::kNone, EnsembleStepMode::kUseIter}) {
    const BatchShape shape{.dims = {3}, .rows = 4};
    const std::vector<AnyRule> rules = {EnsembleRowwiseAdagrad{
        .step_ema = 2, .step_swap = 4, .step_ema_coef = 0.75f, .step_mode = mode}};
    RandomBatch batch(ctx(), shape);
    const UpdateTables tables(ctx(), batch, shape, rules);
    const std::vector<float> w = Host(tables.weight(0));
    std::vector<float> slow(w.size(), 0.25f), now = w;
    for (int64_t step = 1; step <= 4; ++step) {
      SweepTables(ctx(), tables.tables(), step);
      for (size_t i = 0; i < w.size(); ++i) {
        if (step % 2 == 0) slow[i] = slow[i] + 0.25f * (now[i] - slow[i]);
        if (step % 4 == 0) now[i] = slow[i];
        if (step % 2 == 0 && mode == EnsembleStepMode::kNone) slow[i] = 0;
      }
      EXPECT_EQ(Host(tables.weight(0)), now) << "step " << step;
      EXPECT_EQ(Host(tables.Results()[2]), slow) << "step " << step;  // momentum1, momentum2
    }
  }
}

TEST_P(TableSweepOpsTest, TheLargestCounterOfAllTables) {
  const BatchShape shape{.dims = {4, 4, 4}, .rows = 3000};
  const std::vector<AnyRule> rules = {CounterRowwiseAdagrad{}, Sgd{}, CounterRowwiseAdagrad{}};
  RandomBatch batch(ctx(), shape);
  const UpdateTables tables(ctx(), batch, shape, rules);
  EXPECT_EQ(MaxRowCounterSync(ctx(), tables.tables()), 2);
  Tensor counter = tables.Results()[8];  // row_counter of the third table
  counter.Rows(2999, 3000).Fill(ctx(), 41.0f);
  EXPECT_EQ(MaxRowCounterSync(ctx(), tables.tables()), 42);
}

TEST_P(TableSweepOpsTest, WeightsTimesWhatRowsOwe) {
  for (const bool weighted : {false, true}) {
    const BatchShape shape{.dims = {4, 4}, .rows = 9, .weighted = weighted, .pruned_ids = true};
    const GlobalDecayRowwiseAdagrad decay{.lr = 0.5f, .weight_decay = 0.5f, .start_iter = 3};
    const std::vector<AnyRule> rules = {decay, Sgd{}};
    RandomBatch batch(ctx(), shape);
    const UpdateTables tables(ctx(), batch, shape, rules);  // every row's prev_iter is 1
    EXPECT_FALSE(OwedWeights(ctx(), batch.Lookup(), tables.tables(), 2).defined());
    const std::vector<float> got = Host(OwedWeights(ctx(), batch.Lookup(), tables.tables(), 5));
    const std::vector<int64_t> ids = batch.ids(ctx());
    std::vector<float> weights(ids.size(), 1.0f);
    if (weighted) weights = Host(batch.weights());
    const auto of_first = static_cast<size_t>(batch.offsets()[static_cast<size_t>(shape.batch)]);
    for (size_t i = 0; i < ids.size(); ++i) {
      const bool owes = i < of_first && ids[i] >= 0;
      EXPECT_EQ(got[i], owes ? weights[i] * 0.421875f : weights[i]) << "id number " << i;
    }
  }
}

TESSERA_INSTANTIATE_DEVICES(TableSweepOpsTest);

}  // namespace
}  // namespace tessera
