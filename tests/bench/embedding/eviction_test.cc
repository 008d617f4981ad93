// The offline optimum against all possible choices, and policies beside it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <fstream>
#include <map>
#include <random>

#include "bench/eviction/belady.h"
#include "bench/eviction/eviction_policies.h"
#include "bench/eviction/eviction_topic.h"
#include "bench/eviction/id_source.h"
#include "bench/harness/sweep.h"
#include "bench/harness/sweep_runner.h"
#include "runtime/base/check.h"

namespace tessera::bench {
namespace {

using ::testing::ElementsAre;

// The most hits over all choices of rows; sets of ids are bits.
int64_t MostHits(std::span<const int64_t> ids, int64_t batch, int64_t capacity) {
  std::map<uint32_t, int64_t> best = {{0, 0}};  // hits so far, by the ids that have rows
  for (size_t begin = 0; begin < ids.size(); begin += static_cast<size_t>(batch)) {
    const auto part = ids.subspan(begin, std::min(static_cast<size_t>(batch), ids.size() - begin));
    std::map<uint32_t, int64_t> next;
    for (const auto& [kept, hits_before] : best) {
      uint32_t seen = kept;
      int64_t hits = hits_before;
      for (const int64_t id : part) {
        hits += seen >> id & 1;
        seen |= 1u << id;
      }
      for (uint32_t subset = seen;; subset = (subset - 1) & seen) {
        if (std::popcount(subset) <= capacity) {
          int64_t& most = next.emplace(subset, hits).first->second;
          most = std::max(most, hits);
        }
        if (subset == 0) break;
      }
    }
    best = std::move(next);
  }
  int64_t most = 0;
  for (const auto& [kept, hits] : best) most = std::max(most, hits);
  return most;
}

TEST(Belady, IsTheBestOfAllChoices) {
  std::mt19937_64 random(5);
  for (int round = 0; round < 300; ++round) {
    const auto below = [&](int64_t n) {
      return static_cast<int64_t>(random() % static_cast<uint64_t>(n));
    };
    const int64_t batch = 1 + below(4), capacity = below(4), distinct = 2 + below(5);
    std::vector<int64_t> ids(static_cast<size_t>(8 + below(16)));
    for (int64_t& id : ids) id = below(distinct);
    ASSERT_EQ(BestHits(ids, batch, capacity), MostHits(ids, batch, capacity))
        << "batch " << batch << " capacity " << capacity;
  }
}

TEST(Belady, SmallCases) {
  const std::vector<int64_t> turns = {0, 1, 2, 0, 1, 2, 0, 1, 2};
  EXPECT_EQ(BestHits(turns, 1, 3), 6);
  EXPECT_EQ(BestHits(turns, 1, 2), 4);  // 0 and 1 stay, 2 is refused
  EXPECT_EQ(BestHits(turns, 1, 0), 0);
  EXPECT_EQ(BestHits(turns, 9, 0), 6);  // repeats inside a batch
  EXPECT_EQ(BestHits({}, 4, 2), 0);
  EXPECT_EQ(BestHits(std::vector<int64_t>{9, 9}, 1, 1), 1);
}

TEST(EvictionPolicies, CountWhoseRowsAreThere) {
  Context ctx({.threads = 1});
  const Policy lru = MakePolicy(ctx, "growing_lru", {.capacity = 2});
  std::vector<std::vector<int64_t>> rows;
  const std::vector<int64_t> ids = {7, 7, 8, 7, 8, 9};
  EXPECT_EQ(HitsOf(ctx, lru, ids, 2,
                   [&](auto, auto given, auto) { rows.emplace_back(given.begin(), given.end()); }),
            3);  // the second 7; the third; the second 8
  EXPECT_GE(rows[0][0], 0);
  EXPECT_EQ(rows[0][1], rows[0][0]);
  EXPECT_EQ(rows[1][1], rows[0][0]);
  EXPECT_EQ(rows[2][0], rows[1][0]);
}

TEST(IdSource, WordsBagsAndColumns) {
  const std::string path = ::testing::TempDir() + "/ids.txt";
  std::ofstream(path) << "1\t22 3\n1\t\t4\n5 22\n";
  const RawIdTrace lines = ReadIdSource("lines:" + path, 0, 1);
  EXPECT_THAT(lines.dense, ElementsAre(0, 1, 2, 0, 3, 4, 1));
  EXPECT_EQ(lines.distinct, 5);
  EXPECT_EQ(lines.raw[1], lines.raw[6]);
  EXPECT_EQ(ReadIdSource("bags:" + path, 0, 1).raw.size(), 4u);
  EXPECT_THAT(ReadIdSource("column:1:" + path, 0, 1).dense, ElementsAre(0, 0, 1));
  EXPECT_EQ(ReadIdSource("column:2:" + path, 0, 1).raw.size(), 1u);
  EXPECT_EQ(ReadIdSource("zipf:1.1", 100, 50).raw.size(), 100u);
  for (const char* bad : {"column:0:x", "column:x", "bags", "trace:x", "zipf:x"})
    EXPECT_THROW(CheckIdSource(bad), Error) << bad;
}

// Each policy checks itself: no id reads another's row, none beats the optimum.
TEST(EvictionTopic, EveryPolicyRuns) {
  std::vector<Measurement> all;
  RunPoints(EvictionTopic(),
            PointsOf(EvictionTopic(), "",
                     {{"count", {"3k"}}, {"rows", {"1k"}}, {"batch", {"64"}}, {"interval", {"2"}}}),
            {.rounds = 1, .rows = [&](const std::vector<Measurement>& rows) {
               all.insert(all.end(), rows.begin(), rows.end());
             }});
  ASSERT_EQ(all.size(), EvictionPolicies().size());
  for (const Measurement& row : all) {
    EXPECT_EQ(row.facts[0].first, "hit_rate");
    EXPECT_GT(row.facts[0].second, 0) << row.case_name;
    EXPECT_LE(row.facts[0].second, row.facts[1].second) << row.case_name;
  }
}

}  // namespace
}  // namespace tessera::bench
