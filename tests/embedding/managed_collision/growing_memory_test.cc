// A growing table on a GPU takes memory as ids come.
#include <gtest/gtest.h>

#include <numeric>

#include "embedding/managed_collision/growing_managed_collision_module.h"
#include "runtime/device/device_properties.h"
#include "tests/embedding/managed_collision/managed_tables.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using testing::Bags;
using testing::Collection;

constexpr int64_t kDim = 1024, kRowBytes = 4 * kDim, kIds = 300, kSlack = 2 << 20;

class GrowingMemoryTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    testing::DeviceTest::SetUp();
    if (on_cpu()) GTEST_SKIP() << "SKIPPED: the host's pages come by a touch";
  }
  // A table whose rows, all in use, would take twice the memory that there is.
  ManagedCollisionEmbeddingBagCollection LargeTable() {
    const auto module = std::make_shared<GrowingManagedCollisionModule>(
        GrowingIndexOptions{.max_rows = 2 * FreeMemoryOf(device()) / kRowBytes});
    EmbeddingBagConfig config;
    config.name = "t";
    config.num_embeddings = module->output_size();
    config.embedding_dim = kDim;
    config.feature_names = {"a"};
    config.growing = true;
    config.optimizer = RowwiseAdagrad{0.1f};
    const std::vector<EmbeddingBagConfig> configs = {config};
    return {std::make_unique<EmbeddingBagCollection>(ctx(), configs),
            Collection({{"t", module}}, configs)};
  }
  void Train(ManagedCollisionEmbeddingBagCollection& mc, int64_t first_id) {
    std::vector<int64_t> ids(kIds);
    std::iota(ids.begin(), ids.end(), first_id);
    testing::TrainOn(ctx(), mc, Bags(ctx(), {"a"}, ids, {kIds}));
  }
  int64_t TakenSince(int64_t free) {
    ctx().Sync();
    return free - FreeMemoryOf(device());
  }
};
TESSERA_INSTANTIATE_DEVICES(GrowingMemoryTest);

TEST_P(GrowingMemoryTest, OfRowsInUseWhateverTheCap) {
  ManagedCollisionEmbeddingBagCollection mc = LargeTable();
  Train(mc, 0);
  ctx().Sync();
  const int64_t free = FreeMemoryOf(device());
  for (int64_t step = 1; step < 40; ++step) Train(mc, step * kIds);
  const int64_t rows = 40 * kIds * kRowBytes;
  EXPECT_EQ(mc.embedding_bag_collection().tables().weight(0).dim(0), 40 * kIds + 1);
  EXPECT_GE(TakenSince(free), rows - rows / 40);
  EXPECT_LE(TakenSince(free), rows + rows / 4);
}

// The host counts an id a row until a GPU has told how many there are.
TEST_P(GrowingMemoryTest, IdsThatComeAgainTakeNone) {
  ManagedCollisionEmbeddingBagCollection mc = LargeTable();
  Train(mc, 0);
  ctx().Sync();
  const int64_t free = FreeMemoryOf(device());
  for (int64_t step = 0; step < 60; ++step) {
    Train(mc, 0);
    if (step % 10 == 0) ctx().Sync();
  }
  EXPECT_LE(TakenSince(free), 20 * kIds * kRowBytes);  // of 60 · kIds
  EXPECT_EQ(mc.embedding_bag_collection().tables().weight(0).dim(0), kIds + 1);
}

// At the cap, the index would take many times the memory that there is.
TEST_P(GrowingMemoryTest, OfTheIndexAsIdsCome) {
  constexpr int64_t kStep = 20000, kSteps = 15;
  GrowingIndex index({.max_rows = (int64_t{1} << 32) - 1, .sketch_bytes = 1 << 20});
  const int64_t free = FreeMemoryOf(device());
  std::vector<int64_t> ids(kStep), all;
  for (int64_t step = 0; step < kSteps; ++step) {
    std::iota(ids.begin(), ids.end(), step * kStep);
    for (int64_t& id : ids) all.push_back(id *= 7919);
    const Tensor rows = index.Insert(ctx(), Tensor::From(ctx(), ids)).rows;
    for (const int64_t row : rows.ToVector<int64_t>()) EXPECT_GE(row, step * kStep);
  }
  EXPECT_EQ(index.num_rows(), kSteps * kStep);
  const std::vector<int64_t> found =
      index.Find(ctx(), Tensor::From(ctx(), all)).ToVector<int64_t>();
  for (size_t i = 0; i < all.size(); ++i) EXPECT_EQ(found[i], static_cast<int64_t>(i));
  EXPECT_LE(index.bytes(), 40 * kSteps * kStep * 9 / 8 + 4 * kSlack);
  EXPECT_LE(TakenSince(free), 40 * kSteps * kStep * 9 / 8 + 4 * kSlack);
}

}  // namespace
}  // namespace tessera
