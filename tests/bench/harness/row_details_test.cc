#include "bench/harness/row_details.h"

#include <gtest/gtest.h>

#include <sstream>

#include "tests/bench/harness/run_for_tests.h"

namespace tessera::bench {
namespace {

TEST(RowDetailsTest, NamesSayTheUnit) {
  Measurement row = MadeUpRow("a", "tessera", {1});
  EXPECT_EQ(DetailsText(row), "");
  row.facts = {{"distinct_rows", 43210},
               {"working_set_bytes", 22123520},
               {"mean_reuse", 3.4215},
               {"l1_hit_share", 0.125}};
  EXPECT_EQ(DetailsText(row),
            "    distinct rows 43,210; working set 21.1 MiB; mean reuse 3.42; l1 hit 12.5 %\n");
}

TEST(RowDetailsTest, LinesHaveAHundredColumns) {
  Measurement row = MadeUpRow("a", "tessera", {1});
  for (int i = 0; i < 20; ++i) row.facts.emplace_back("some_fact", 1000 + i);
  std::istringstream lines(DetailsText(row));
  int count = 0;
  for (std::string line; std::getline(lines, line); ++count) {
    EXPECT_LE(line.size(), 100u) << line;
    EXPECT_EQ(line.substr(0, 8), "    some") << line;
  }
  EXPECT_EQ(count, 4);
}

}  // namespace
}  // namespace tessera::bench
