// The heap that a training step uses once the first few have made all that is used again.
#include <gtest/gtest.h>

#include "tests/testing/allocation_counter.h"
#include "tests/train/testing/small_run.h"
#include "train/data_sets.h"
#include "train/trainer.h"

namespace tessera {
namespace {

// The heap use of one step after a few, with so many rows each.
HeapUse SteadyStep(int64_t rows) {
  TrainConfig config = testing::SmallConfig();
  config.batch_size = rows;
  config.data.rows = 8 * rows;
  Context ctx({.threads = 2, .seed = config.seed});
  Trainer trainer(ctx, config);
  std::vector<Batch> batches;
  {  // threads read ahead while it lives
    const std::unique_ptr<DataSource> source = DataSets(config, {}).OpenTrain(0);
    for (int i = 0; i < 8; ++i) batches.push_back(*source->Next());
  }
  for (const Batch& batch : batches) trainer.Step(batch);
  return MeasureHeapUse([&] { trainer.Step(batches[0]); });
}

// A step takes nodes of the tape, lists of tensors and names, and the counters of a sort: as many
// for a large batch as for a small one.
TEST(SteadyStateTest, AStepTakesNoMemoryForItsRows) {
  if (!CountsAllocations()) GTEST_SKIP() << "SKIPPED: sanitizers replace malloc themselves";
  const HeapUse small = SteadyStep(32), large = SteadyStep(2048);
  EXPECT_LE(large.allocations, small.allocations + 32);
  EXPECT_LE(large.allocations, 400);
  EXPECT_LE(large.largest, 64 << 10);
}

}  // namespace
}  // namespace tessera
