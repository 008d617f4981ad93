#include "planner/step_model/step_memory.h"

#include <gtest/gtest.h>

#include "sharding/plan/plan_makers.h"

namespace tessera {
namespace {

StepLoad OneTable() {
  StepTable table{.name = "t", .rows = 1000, .dim = 16};
  table.rule = "rowwise_adagrad";
  table.features.push_back({10, 40, UniformRows(1000)});
  return {.tables = {table}};
}

std::vector<MemoryBytes> Memory(const StepLoad& load, const TableSharder& sharder,
                                double batches = 1) {
  const std::vector<TableShape> shapes = {{"t", 1000, 16}};
  return MemoryOfPlan(load, MakeShardingPlan({4, 2}, shapes, sharder), batches);
}

TEST(MemoryOfPlan, RowsAndStatesLieWhereThePlanSays) {
  const std::vector<MemoryBytes> one = Memory(OneTable(), TableWise(1));
  EXPECT_EQ(one[1].rows, 1000 * 16 * 4);
  EXPECT_EQ(one[1].states, 1000 * 4);
  EXPECT_EQ(one[0].rows, 0);
  EXPECT_GT(one[0].rows_moved, 0);
  EXPECT_EQ(Memory(OneTable(), RowWise())[3].rows, 250 * 16 * 4);
  EXPECT_EQ(Memory(OneTable(), DataParallel())[3].rows, 1000 * 16 * 4);
  // Each block of columns has a state for each row.
  EXPECT_EQ(Memory(OneTable(), ColumnWise({0, 3}))[3].states, 1000 * 4);
}

TEST(MemoryOfPlan, FollowsTypesRulesAndBatches) {
  StepLoad load = OneTable();
  load.tables[0].row_type = DType::kF16;
  load.tables[0].rule = "adam";
  const std::vector<MemoryBytes> memory = Memory(load, TableWise(0));
  EXPECT_EQ(memory[0].rows, 1000 * 16 * 2);
  EXPECT_EQ(memory[0].states, 2 * 1000 * 16 * 4);
  const MemoryBytes two = Memory(OneTable(), TableWise(0), 2)[0],
                    first = Memory(OneTable(), TableWise(0), 1)[0];
  EXPECT_EQ(two.input, 2 * first.input);
  EXPECT_EQ(two.rows_moved, first.rows_moved);
  EXPECT_EQ(first.workspace, 4 * (40 * 16 + 10 * 12));
}

TEST(MemoryOfPlan, WhatIsKnownToBeKeptCountsInPlaceOfTheRulesStates) {
  StepLoad load = OneTable();
  load.tables[0].kept_bytes = {.column = 12, .row = 4};
  EXPECT_EQ(Memory(load, TableWise(0))[0].states, 1000 * (16 * 12 + 4));
  EXPECT_EQ(Memory(load, ColumnWise({0, 3}))[3].states, 1000 * (8 * 12 + 4));
}

TEST(MemoryOfPlan, CodecsTakeRoomToo) {
  StepLoad load = OneTable();
  const double plain = Memory(load, TableWise(0))[0].rows_moved;
  load.codecs = ParseWireCodecs("fp16");
  EXPECT_EQ(Memory(load, TableWise(0))[0].rows_moved, plain + 5 * 10 * 16 * (2 + 2));
}

}  // namespace
}  // namespace tessera
