#include "planner/step_model/working_set.h"

#include <gtest/gtest.h>

namespace tessera {
namespace {

StepLoad OneTable(double ids, RowPopularity popularity) {
  StepTable table{.name = "t", .rows = 10'000, .dim = 16};
  table.rule = "sgd";
  table.features.push_back({ids, ids, std::move(popularity)});
  return {.tables = {table}};
}

TEST(WorkingSet, OfOneEvenlyUsedTableIsItsSize) {
  for (const double ids : {10.0, 1000.0, 100'000.0}) {
    const StepLoad load = OneTable(ids, UniformRows(10'000));
    const WorkingSet set(load, 1, 1);
    const double steps = StepsBetweenUses(load.tables[0].features[0].popularity.groups[0], ids);
    EXPECT_NEAR(set.Of(steps), 10'000 * 64.0, 0.05 * 10'000 * 64) << ids;
  }
}

TEST(WorkingSet, OfRareRowsIsLarger) {
  const StepLoad load = OneTable(1000, ZipfRows(10'000, 1, false));
  const WorkingSet set(load, 1, 1);
  double before = 0;
  for (const RowGroup& g : load.tables[0].features[0].popularity.groups) {
    const double bytes = set.Of(StepsBetweenUses(g, 1000));
    EXPECT_GE(bytes, before);
    before = bytes;
  }
  EXPECT_LT(set.Of(1e-9), 1e3);
}

TEST(WorkingSet, CountsStatesAndOtherTables) {
  StepLoad load = OneTable(1000, UniformRows(10'000));
  const double alone = WorkingSet(load, 1, 1).Of(10);
  load.tables.push_back(load.tables[0]);
  EXPECT_NEAR(WorkingSet(load, 1, 1).Of(10), 2 * alone, 1e-6 * alone);
  EXPECT_NEAR(WorkingSet(load, 1, 0.5).Of(10), alone, 1e-6 * alone);
  for (StepTable& table : load.tables) table.rule = "adam";
  EXPECT_NEAR(WorkingSet(load, 1, 1).Of(10), 6 * alone, 1e-6 * alone);
}

}  // namespace
}  // namespace tessera
