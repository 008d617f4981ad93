// The heap that calls use once the first few have made all that is used again.
#include <gtest/gtest.h>

#include "embedding/update/update.h"
#include "tests/embedding/small_steps.h"
#include "tests/testing/allocation_counter.h"
#include "tests/testing/random_batch.h"
#include "tests/testing/rules.h"
#include "tests/testing/update_tables.h"

namespace tessera {
namespace {

using testing::Bags;
using testing::BatchShape;
using testing::Configs;
using testing::RandomBatch;
using testing::Step;
using testing::UpdateTables;

// The bytes for names, for lists of the pieces of a call and for a sort's counters; ids, gradients
// and rows are never among them.
constexpr int64_t kBookkeeping = 64 << 10;

class TableSteadyStateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!CountsAllocations()) GTEST_SKIP() << "SKIPPED: sanitizers replace malloc themselves";
  }
  // The heap use of one call after a few.
  static HeapUse Steady(const std::function<void()>& fn) {
    for (int i = 0; i < 5; ++i) fn();
    return MeasureHeapUse(fn);
  }
  // The heap use of the first call that takes at most `allocations`, or of the last of many. It is
  // for calls whose loops make lists: a thread that had no part in the calls before takes its own
  // when it has one, and blocks that one takes and another gives back are enough for both after
  // some dozens of calls.
  static HeapUse SteadyOnAllThreads(int64_t allocations, const std::function<void()>& fn) {
    HeapUse use = Steady(fn);
    for (int i = 0; i < 100 && use.allocations > allocations; ++i) use = MeasureHeapUse(fn);
    return use;
  }
  Context ctx_{{.threads = 2}};
};

// Bags of each of four tables.
BatchShape ShapeOf(int64_t batch) {
  return {.dims = {16, 32, 64, 16}, .rows = 5000, .batch = batch, .mean_length = 8};
}

TEST_F(TableSteadyStateTest, ALookupTakesNothing) {
  for (const int64_t bags : {1, 64, 4096}) {
    RandomBatch batch(ctx_, ShapeOf(bags));
    const LookupArgs lookup = batch.Lookup();
    EXPECT_EQ(Steady([&] { Lookup(ctx_, lookup); }).allocations, 0) << bags << " bags";
  }
}

TEST_F(TableSteadyStateTest, AnUpdateTakesNothing) {
  for (const int64_t bags : {16, 1024}) {
    RandomBatch batch(ctx_, ShapeOf(bags));
    const LookupArgs gradient = batch.Gradient();
    for (const AnyRule& rule : testing::AllRules()) {
      const std::vector<AnyRule> rules = {rule};
      UpdateTables tables(ctx_, batch, ShapeOf(bags), rules);
      const HeapUse use = SteadyOnAllThreads(0, [&] {
        Update(ctx_, {gradient, tables.tables(), 1});
      });
      EXPECT_EQ(use.allocations, 0) << RuleName(rule) << ", " << bags << " bags";
    }
  }
}

// The allocations left are vectors of public types: a KeyedTensor's names and offsets, outputs and
// gradients as a Function has them, a tape's node, the ids that each feature is to read.
TEST_F(TableSteadyStateTest, StepsOfACollectionTakeListsOfOutputsAlone) {
  constexpr int64_t kForward = 9, kStep = 13;
  EmbeddingBagCollection tables(ctx_, Configs(5000, 16, RowwiseAdagrad{}));
  for (const int64_t batch : {16, 4096}) {
    const KeyedJaggedTensor bags = Bags(ctx_, batch, 8, 5000);
    const HeapUse forward = Steady([&] { tables.Forward(ctx_, bags); });
    EXPECT_LE(forward.allocations, kForward) << batch;
    EXPECT_LE(forward.largest, 1024) << batch;
    const HeapUse step = SteadyOnAllThreads(kStep, [&] { Step(ctx_, tables, bags); });
    EXPECT_LE(step.allocations, kStep) << batch;
    EXPECT_LE(step.largest, 1024) << batch;
  }
}

// Batches of a real training are never of the same size twice.
TEST_F(TableSteadyStateTest, BatchesOfAllSizesServeEachOther) {
  EmbeddingBagCollection tables(ctx_, Configs(5000, 32, Adam{}));
  std::vector<KeyedJaggedTensor> warm, cold;
  for (int64_t i = 1; i < 16; ++i) {
    warm.push_back(Bags(ctx_, 2000 + 137 * i, 8, 5000));
    cold.push_back(Bags(ctx_, 2000 + 137 * i - 61, 8, 5000));
    cold.back().offsets(ctx_);  // which a batch keeps once they are asked for
  }
  const auto train = [&](const std::vector<KeyedJaggedTensor>& batches) {
    for (const KeyedJaggedTensor& bags : batches) Step(ctx_, tables, bags);
  };
  train(warm);
  EXPECT_LE(MeasureHeapUse([&] { train(cold); }).largest, kBookkeeping);
}

TEST_F(TableSteadyStateTest, OperationsOnBatchesTakeNoMemoryForIds) {
  for (const int64_t batch : {16, 4096}) {
    const KeyedJaggedTensor bags = Bags(ctx_, batch, 8, 5000);
    const std::vector<std::function<void()>> calls = {
        [&] {
          bags.Permute(ctx_, {2, 0, 1, 3});
        },
        [&] {
          bags.Split(ctx_, {2, 2});
        },
        [&] { KeyedJaggedTensor::Concat(ctx_, {bags}); },
        [&] {
          KeyedJaggedTensor::FromLengthsSync(bags.keys(), bags.values(), bags.lengths(ctx_));
        }};
    for (size_t i = 0; i < calls.size(); ++i) {
      const HeapUse use = Steady(calls[i]);
      EXPECT_LE(use.allocations, 40) << "call " << i << ", batch " << batch;
      EXPECT_LE(use.largest, kBookkeeping) << "call " << i << ", batch " << batch;
    }
  }
}

}  // namespace
}  // namespace tessera
