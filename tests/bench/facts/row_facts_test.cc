#include "bench/facts/row_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tessera::bench {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr int64_t kRow = 64;  // bytes
const std::vector<DataCache> kCaches = {{1, false, 1 * kRow}, {2, true, 2 * kRow}, {3, true, 1024}};

TEST(RowFactsTest, RowsOfTablesAreTold) {
  const std::vector<int64_t> ids = {3, 3, 1, 3}, offsets = {0, 1, 3, 4};
  const std::vector<LookupFeature> features = {
      {.ids = {ids.data(), true}, .first_bag = 0, .num_bags = 2},
      {.ids = {ids.data(), true}, .first_bag = 2, .num_bags = 1}};
  const std::vector<int64_t> rows =
      RowsNamed({features, {offsets.data(), true}, nullptr, std::ssize(ids)});
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0], rows[1]);
  EXPECT_NE(rows[0], rows[3]) << "row 3 of another table";
  EXPECT_EQ(DistinctRows(rows).size(), 3u);
}

TEST(RowFactsTest, ReuseIsIdsADistinctRow) {
  EXPECT_THAT(ReuseFacts(30, 10, 512),
              ElementsAre(Pair("distinct_rows", 10), Pair("working_set_bytes", 5120),
                          Pair("mean_reuse", 3)));
}

// Distances of 1 2 1 1 3 2: none, none, 1, 0, none, 2.
TEST(RowFactsTest, CachesHitWhatWasUsedLately) {
  const RowReads reads = {{{1, 2, 1, 1, 3, 2}}, kRow};
  EXPECT_THAT(CacheHitFacts(reads, /*cold=*/true, kCaches),
              ElementsAre(Pair("lru_l1_hit_share", 1.0 / 6), Pair("lru_l2_hit_share", 2.0 / 6),
                          Pair("lru_l3_hit_share", 3.0 / 6)));
  EXPECT_EQ(CacheHitFacts(reads, /*cold=*/false, kCaches)[2].second, 1)
      << "warm, all three rows are there from the turn before";
}

TEST(RowFactsTest, AThreadSeesItsPartAlone) {
  const RowReads reads = {{{1, 1, 1, 2, 2, 3, 3, 4}}, kRow, 2};
  const Facts facts = CacheHitFacts(reads, true, kCaches);
  EXPECT_DOUBLE_EQ(facts[0].second, 0.5) << "of 1 1 1 2";
  EXPECT_DOUBLE_EQ(facts[2].second, 0.5) << "of all";
}

TEST(RowFactsTest, RowsTakeWholeLines) {
  const std::vector<DataCache> caches = {{3, true, 256}};
  EXPECT_EQ(CacheHitFacts({{{1, 2, 1, 2}}, 65}, true, caches)[0].second, 0.5);
  EXPECT_EQ(CacheHitFacts({{{1, 2, 3, 1, 2, 3}}, 65}, true, caches)[0].second, 0)
      << "two rows of two lines fill the cache";
}

TEST(RowFactsTest, CallsOfEmptyBagsHitNothing) {
  EXPECT_THAT(CacheHitFacts({{{}, {}}, /*row_bytes=*/0}, true, kCaches),
              ElementsAre(Pair("lru_l1_hit_share", 0), Pair("lru_l2_hit_share", 0),
                          Pair("lru_l3_hit_share", 0)));
}

TEST(RowFactsTest, EachCallIsColdByItself) {
  const RowReads reads = {{{1, 2}, {2, 1}}, kRow};
  EXPECT_EQ(CacheHitFacts(reads, true, kCaches)[2].second, 0);
  EXPECT_EQ(CacheHitFacts(reads, false, kCaches)[1].second, 1);
  EXPECT_EQ(CacheHitFacts(reads, false, kCaches)[0].second, 0.5) << "2 2 and 1 1";
  EXPECT_EQ(CacheHitFacts({{{}}, kRow}, true, kCaches)[0].second, 0);
}

}  // namespace
}  // namespace tessera::bench
