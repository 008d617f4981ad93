// Tables in every place: filled, read by kernels, copied out, given back.
#include "embedding/config/placement.h"

#include <gmock/gmock.h>

#include "embedding/lookup/lookup.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr EmbeddingLocation kAll[] = {EmbeddingLocation::kDevice, EmbeddingLocation::kHost,
                                      EmbeddingLocation::kManaged,
                                      EmbeddingLocation::kManagedCaching};

class PlacementTest : public testing::DeviceTest {};

TEST_P(PlacementTest, TablesInEveryPlaceAreLookedUp) {
  for (const EmbeddingLocation location : kAll) {
    const Tensor table = EmptyAt(ctx(), location, {4, 3});
    EXPECT_EQ(table.device(), device());
    table.CopyFrom(ctx(), Tensor::From<float>(ctx(), {4, 3}, {0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
    const Tensor ids = Tensor::From<int64_t>(ctx(), {1, 3, 2}),
                 offsets = Tensor::From<int64_t>(ctx(), {0, 2, 3}),
                 output = Tensor::Empty(ctx(), {2, 3});
    const LookupFeature feature = {.rows = table.raw_data(),
                                   .num_rows = 4,
                                   .dim = 3,
                                   .ids = {ids.raw_data(), true},
                                   .num_bags = 2,
                                   .output = output.raw_data(),
                                   .output_stride = 3};
    Lookup(ctx(), {{&feature, 1}, {offsets.raw_data(), true}, nullptr, 3});
    EXPECT_THAT(output.ToVector<float>(), ElementsAre(8, 10, 12, 4, 5, 6)) << ToString(location);
    table.Fill(ctx(), 2);
    EXPECT_THAT(table.ToVector<float>(), Each(2.0f)) << ToString(location);
  }
}

TEST_P(PlacementTest, ManagedMemoryIsCountedAndGivenBack) {
  Allocator& allocator = ManagedAllocator(device());
  const AllocatorStats before = allocator.stats();
  {
    const Tensor t = EmptyAt(ctx(), EmbeddingLocation::kManaged, {1 << 10}, DType::kU8);
    t.Fill(ctx(), 1);
    EXPECT_EQ(allocator.stats().live_bytes - before.live_bytes, 1 << 10);
  }
  EXPECT_EQ(allocator.stats().live_bytes, before.live_bytes);
}

// Pinned blocks of a table's size are neither rounded up nor kept.
TEST_P(PlacementTest, LargePinnedBlocksGoBack) {
  if (on_cpu()) GTEST_SKIP() << "SKIPPED: a CPU has no pinned memory";
  const AllocatorStats before = PinnedAllocator().stats();
  constexpr int64_t kBytes = (64 << 20) + 256;
  {
    const Tensor t = EmptyAt(ctx(), EmbeddingLocation::kHost, {kBytes}, DType::kU8);
    EXPECT_EQ(PinnedAllocator().stats().live_bytes - before.live_bytes, kBytes);
  }
  EXPECT_EQ(PinnedAllocator().stats().live_bytes, before.live_bytes);
  EXPECT_EQ(PinnedAllocator().stats().cached_bytes, before.cached_bytes);
}

TEST(PlacementNamesTest, AreThoseOfFbgemm) {
  for (const EmbeddingLocation location : kAll)
    EXPECT_EQ(ParseEmbeddingLocation(ToString(location)), location);
  EXPECT_EQ(ParseEmbeddingLocation("DISK"), EmbeddingLocation::kDisk);
  for (const CachePolicy policy : {CachePolicy::kLru, CachePolicy::kLfu})
    EXPECT_EQ(ParseCachePolicy(ToString(policy)), policy);
  EXPECT_THAT([] { (void)ParseEmbeddingLocation("TAPE"); },
              ThrowsMessage<Error>(HasSubstr("\"TAPE\": expected one of DEVICE, HOST, MANAGED")));
}

TESSERA_INSTANTIATE_DEVICES(PlacementTest);

}  // namespace
}  // namespace tessera
