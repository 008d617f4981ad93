// The topic of growing tables, small.
#include <gtest/gtest.h>

#include "bench/embedding/growing_topic.h"
#include "bench/harness/measurement.h"
#include "bench/harness/sweep.h"
#include "bench/harness/sweep_runner.h"

namespace tessera::bench {
namespace {

// Each op checks itself: ids have the rows that they should.
TEST(GrowingTopic, EveryOpRuns) {
  std::vector<Measurement> all;
  RunPoints(GrowingTopic(),
            PointsOf(GrowingTopic(), "",
                     {{"rows", {"1k"}},
                      {"dim", {"4"}},
                      {"batch", {"64"}},
                      {"pooling", {"2"}},
                      {"caches", {"warm"}},
                      {"threads", {"1"}}}),
            {.rounds = 6, .rows = [&](const std::vector<Measurement>& rows) {
               all.insert(all.end(), rows.begin(), rows.end());
             }});
  ASSERT_EQ(all.size(), 5u);
  for (const Measurement& row : all) {
    EXPECT_EQ(row.items, 128) << row.case_name;
    EXPECT_EQ(row.facts[0].first, "memory_beside_plain_rows_share");
    EXPECT_GT(row.facts[0].second, 1) << row.case_name;
    const bool reads_rows =
        row.case_name.starts_with("op=lookup") || row.case_name.starts_with("op=step");
    EXPECT_EQ(row.HasLimit(), reads_rows) << row.case_name;
  }
}

}  // namespace
}  // namespace tessera::bench
