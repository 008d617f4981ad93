// The rows that a cache holds, its counts and its slots' contents, beside a plain simulation;
// batches are prefetched ahead, on one stream and on two.
#include "embedding/cache/row_cache.h"

#include <gmock/gmock.h>

#include <cmath>
#include <deque>

#include "tests/embedding/cache/row_cache_fixture.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::Numbers;
using testing::PlainCache;
using ::testing::ThrowsMessage;

TEST(RowHashTest, IsABijectionThatSpreadsRowsOverSets) {
  for (const int64_t rows : {1, 2, 3, 5, 64, 1000, 4096}) {
    const auto hash = internal::RowHash::Of(rows);
    std::vector<int> seen(size_t{1} << hash.bits);
    std::vector<int64_t> sets(7);
    for (int64_t row = 0; row < rows; ++row) {
      const uint64_t h = hash(row);
      ASSERT_LT(h, seen.size());
      ++seen[h];
      ++sets[h * 7 >> hash.bits];
      ASSERT_EQ(hash.RowOf(h), row);
    }
    EXPECT_LE(*std::max_element(seen.begin(), seen.end()), 1) << rows;
    if (rows < 1000) continue;
    EXPECT_LE(*std::max_element(sets.begin(), sets.end()), rows / 7 * 5 / 4) << rows;
  }
  const auto wide = internal::RowHash::Of(int64_t{1} << 40);
  for (int64_t row = (int64_t{1} << 40) - 1; row > 0; row /= 3)
    EXPECT_EQ(wide.RowOf(wide(row)), row);
}

struct CacheCase {
  int64_t rows;
  CacheConfig config;
  int ahead;         // batches prefetched before the first is used
  bool two_streams;  // prefetch on a stream of its own
};

class RowCacheTest : public testing::RowCacheFixture {
 protected:
  void Simulate(const CacheCase& c, int steps, int64_t most_ids) {
    Context prefetcher({.device = device(), .threads = 2});
    Context& ahead_ctx = c.two_streams ? prefetcher : ctx();
    Table table(ctx(), c.rows);
    RowCache cache(ctx(), {table.weights, table.state}, c.config);
    prefetcher.WaitFor(ctx());
    PlainCache plain(c.rows, cache.lines(), c.config.ways, c.config.policy);
    std::deque<Batch> queue;
    for (int step = 0; step < steps + c.ahead; ++step) {
      if (step < steps)
        queue.push_back(Prefetch(ahead_ctx, cache, plain, RandomIds(c.rows, most_ids)));
      if (step < c.ahead) continue;
      const Batch batch = std::move(queue.front());
      queue.pop_front();
      cache.Load(ctx(), batch.handle);
      ASSERT_NO_FATAL_FAILURE(ExpectSlots(ctx(), cache, table, batch)) << "step " << step;
      if (step % 3 == 0) {  // a batch that only reads, between forward and update
        const Batch read = Prefetch(ctx(), cache, plain, RandomIds(c.rows, most_ids));
        cache.Load(ctx(), read.handle);
        ASSERT_NO_FATAL_FAILURE(ExpectSlots(ctx(), cache, table, read));
        cache.Release(ctx(), read.handle, false);
        plain.Release(read.expected, false);
        cache.Load(ctx(), batch.handle);
        ASSERT_NO_FATAL_FAILURE(ExpectSlots(ctx(), cache, table, batch));
      }
      Change(ctx(), cache, table, batch, 0.5f);
      cache.Release(ctx(), batch.handle, true);
      plain.Release(batch.expected, true);
      if (step % 7 == 6) {
        cache.Flush(ctx());
        plain.Flush();
        if (c.ahead == 0) ExpectTable(ctx(), table);
      }
      EXPECT_EQ(Numbers(cache.StatsSync(ctx())), Numbers(plain.stats())) << "step " << step;
      if (HasFailure()) return;
    }
    EXPECT_EQ(cache.pending(), 0);
    cache.Flush(ctx());
    ExpectTable(ctx(), table);
  }
};

TEST_P(RowCacheTest, DoesWhatThePlainOneDoes) {
  int cases = 0;
  for (const CachePolicy policy : {CachePolicy::kLru, CachePolicy::kLfu})
    for (const int ways : {1, 4, 32})
      for (const double load_factor : {1e-9, 0.2, 1.0})
        for (const int ahead : {0, 2}) {
          Simulate({150, {policy, ways, load_factor, 0, cases % 3 * 20}, ahead, cases % 2 == 1}, 12,
                   60);
          ASSERT_FALSE(HasFailure()) << "ways " << ways << ", load factor " << load_factor
                                     << ", ahead " << ahead << ", " << ToString(policy);
          ++cases;
        }
  std::printf("%d caches simulated\n", cases);
}

TEST_P(RowCacheTest, PrefetchOnAStreamOfItsOwn) {
  for (const int ahead : {1, 3})
    Simulate({300, {.ways = 4, .load_factor = 0.1}, ahead, true}, 15, 80);
}

class RowCachePolicyTest : public RowCacheTest {
 protected:
  // Uses the ids as one batch, and releases it.
  void Name(const std::vector<int64_t>& ids) {
    const Batch batch = Prefetch(ctx(), *cache_, *plain_, ids);
    cache_->Release(ctx(), batch.handle, false);
    plain_->Release(batch.expected, false);
  }
  std::vector<int64_t> Resident() const {
    std::vector<int64_t> rows = cache_->row_ids().Rows(0, cache_->lines()).ToVector<int64_t>();
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  // Makes a cache of one set of four lines.
  void Make(CachePolicy policy) {
    table_ = std::make_unique<Table>(ctx(), 100);
    cache_ = std::make_unique<RowCache>(ctx(), std::vector{table_->weights, table_->state},
                                        CacheConfig{policy, 4, 0.01, 0, 0});
    plain_ = std::make_unique<PlainCache>(100, cache_->lines(), 4, policy);
    ASSERT_EQ(cache_->lines(), 4);
  }
  std::unique_ptr<Table> table_;
  std::unique_ptr<RowCache> cache_;
  std::unique_ptr<PlainCache> plain_;
};

TEST_P(RowCachePolicyTest, LruEvictsTheLeastRecent) {
  Make(CachePolicy::kLru);
  for (const int64_t row : {10, 20, 30, 40, 10}) Name({row, row});
  Name({50});
  EXPECT_THAT(Resident(), ElementsAre(10, 30, 40, 50));
  Name({30, 60});
  EXPECT_THAT(Resident(), ElementsAre(10, 30, 50, 60));
  EXPECT_EQ(Numbers(cache_->StatsSync(ctx())), Numbers(plain_->stats()));
}

TEST_P(RowCachePolicyTest, LfuEvictsTheLeastFrequent) {
  Make(CachePolicy::kLfu);
  for (const int64_t row : {10, 20, 30, 40, 10, 40, 20}) Name({row});
  Name({30, 30, 30});
  Name({50});  // of 10, 20 and 40, each named twice, the one in the lowest line leaves: 10
  EXPECT_THAT(Resident(), ElementsAre(20, 30, 40, 50));
  Name({60});
  EXPECT_THAT(Resident(), ElementsAre(20, 30, 40, 60));
}

TEST_P(RowCachePolicyTest, RowsOfPendingBatchesStay) {
  Make(CachePolicy::kLru);
  const Batch held = Prefetch(ctx(), *cache_, *plain_, {1, 2, 3, 4});
  Name({5, 6, 7});
  EXPECT_THAT(Resident(), ElementsAre(1, 2, 3, 4));
  const CacheStats stats = cache_->StatsSync(ctx());
  EXPECT_EQ(stats.misses, 7);
  EXPECT_EQ(stats.conflict_misses, 3);
  EXPECT_EQ(stats.evictions, 0);
  cache_->Release(ctx(), held.handle, false);
  Name({5, 6, 7});
  EXPECT_THAT(Resident(), ::testing::IsSupersetOf({5, 6, 7}));
}

// A row in scratch of the first batch comes into a line for the second, which must see what the
// first wrote.
TEST_P(RowCachePolicyTest, ScratchGoesToTheLineThatCameMeanwhile) {
  Make(CachePolicy::kLru);
  Batch holder = Prefetch(ctx(), *cache_, *plain_, {1, 2, 3, 4});
  const Batch first = Prefetch(ctx(), *cache_, *plain_, {5});
  cache_->Release(ctx(), holder.handle, false);
  plain_->Release(holder.expected, false);
  const Batch second = Prefetch(ctx(), *cache_, *plain_, {5});
  EXPECT_EQ(first.expected.at(5), 4);
  EXPECT_LT(second.expected.at(5), 4);
  for (const Batch* batch : {&first, &second}) {
    cache_->Load(ctx(), batch->handle);
    ExpectSlots(ctx(), *cache_, *table_, *batch);
    Change(ctx(), *cache_, *table_, *batch, 100);
    cache_->Release(ctx(), batch->handle, true);
  }
  cache_->Flush(ctx());
  ExpectTable(ctx(), *table_);
  EXPECT_EQ(table_->truth[5], 205);
}

TEST_P(RowCachePolicyTest, ABatchThatWentWithoutReleaseLocksNothing) {
  Make(CachePolicy::kLru);
  { const Batch abandoned = Prefetch(ctx(), *cache_, *plain_, {1, 2, 3, 4}); }
  EXPECT_EQ(cache_->pending(), 1);
  Name({5, 6, 7, 8});
  EXPECT_EQ(cache_->pending(), 0);
  EXPECT_THAT(Resident(), ElementsAre(5, 6, 7, 8));
}

TEST_P(RowCachePolicyTest, ResetForgetsWhatTheTableDoesNotKnow) {
  Make(CachePolicy::kLru);
  const Batch batch = Prefetch(ctx(), *cache_, *plain_, {1, 2});
  EXPECT_THAT([&] { cache_->Reset(ctx()); },
              ThrowsMessage<Error>(HasSubstr("1 prefetched batches are pending")));
  cache_->Load(ctx(), batch.handle);
  const std::vector<float> before = table_->truth;
  Change(ctx(), *cache_, *table_, batch, 100);
  cache_->Release(ctx(), batch.handle, true);
  cache_->Reset(ctx());
  EXPECT_THAT(Resident(), ElementsAre(-1, -1, -1, -1));
  cache_->Flush(ctx());
  table_->truth = before;
  ExpectTable(ctx(), *table_);
}

TEST_P(RowCachePolicyTest, RefusesWhatMakesNoSense) {
  Make(CachePolicy::kLru);
  const std::vector<Tensor> parts = {table_->weights, table_->state};
  EXPECT_THAT([&] { RowCache(ctx(), parts, {.load_factor = 0}); },
              ThrowsMessage<Error>(HasSubstr("load factor 0")));
  EXPECT_THAT([&] { RowCache(ctx(), parts, {.ways = 32, .bytes = 700}); },
              ThrowsMessage<Error>(HasSubstr("32 ways, each a row of 24 bytes")));
  EXPECT_EQ(RowCache(ctx(), parts, {.ways = 8, .bytes = 700}).lines(), 24);
  const Batch batch = Prefetch(ctx(), *cache_, *plain_, {1, 2});
  EXPECT_THAT([&] { cache_->Release(ctx(), batch.handle, true); },
              ThrowsMessage<Error>(HasSubstr("not the last to be loaded")));
  cache_->Release(ctx(), batch.handle, false);
  EXPECT_THAT([&] { cache_->Release(ctx(), batch.handle, false); },
              ThrowsMessage<Error>(HasSubstr("released already")));
  EXPECT_THAT([&] { cache_->Load(ctx(), {}); }, ThrowsMessage<Error>(HasSubstr("not prefetched")));
}

TESSERA_INSTANTIATE_DEVICES(RowCacheTest);
TESSERA_INSTANTIATE_DEVICES(RowCachePolicyTest);

}  // namespace
}  // namespace tessera
