#include "planner/calibration/measure_steps.h"

#include <algorithm>
#include <vector>

#include "planner/calibration/group_sizes.h"
#include "planner/calibration/least_squares.h"
#include "planner/calibration/time_plan.h"
#include "planner/step_model/step_model.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

// Tables of a small ranking model.
StepLoad LoadOf(double bags) {
  struct Table {
    int64_t rows, dim;
    double ids;
  };
  constexpr Table kTables[] = {{100'000, 32, 8}, {20'000, 64, 2},  {200'000, 16, 12},
                               {1'000, 32, 1},   {50'000, 128, 3}, {5'000, 64, 6}};
  StepLoad load;
  for (const Table& t : kTables) {
    StepTable table{.name = std::to_string(load.tables.size()), .rows = t.rows, .dim = t.dim};
    table.rule = "rowwise_adagrad";
    table.features.push_back({bags, bags * t.ids, UniformRows(t.rows)});
    load.tables.push_back(std::move(table));
  }
  load.dense_flops = {6.0 * 512 * 128 * 128};
  load.dense_bytes = 4.0 * 128 * 128;
  return load;
}

std::vector<ShardingPlan> MakePlans(const StepLoad& load, int ranks) {
  std::vector<TableShape> shapes;
  std::map<std::string, TableSharder> dealt;
  for (const StepTable& t : load.tables) {
    dealt[t.name] = TableWise(static_cast<int>(shapes.size()) % ranks);
    shapes.push_back({t.name, t.rows, t.dim});
  }
  const RankLayout layout{ranks, ranks};
  return {MakeShardingPlan(layout, shapes, dealt), MakeShardingPlan(layout, shapes, RowWise()),
          MakeShardingPlan(layout, shapes, DataParallel())};
}

StepOverhead MeasureGroup(Context& ctx, Communicator& comm, const MeasureSizes& sizes,
                          const MachineProfile& profile) {
  std::vector<Bill> bills;
  for (const int64_t bags : {64, 512, 1024}) {
    const StepLoad load = LoadOf(static_cast<double>(sizes.Bags(bags)));
    const StepModel model(profile, load, {comm.size(), comm.size()});
    for (const ShardingPlan& plan : MakePlans(load, comm.size())) {
      const StepPrediction step = model.Predict(plan);
      const double measured = TimePlan(ctx, comm, load, plan, 3 * sizes.seconds_a_point).seconds;
      // Waiting is taken as measured; at least a quarter of a step is taken to be work.
      bills.push_back(
          {{1, step.seconds - step.waiting}, std::max(measured - step.waiting, measured / 4)});
    }
  }
  const std::vector<double> prices = FitWithOverhead(std::move(bills));
  return {comm.size(), prices[0], prices[1]};
}

}  // namespace

void MeasureSteps(Context& ctx, Communicator& comm, const MeasureSizes& sizes,
                  const std::function<void(const std::string&)>& said, MachineProfile& profile) {
  std::vector<StepOverhead> steps;
  for (const int ranks : GroupSizes(comm.size())) {
    said(Format("whole steps on {} ranks", ranks));
    const auto group = comm.Split(comm.rank() < ranks ? 0 : -1, comm.rank());
    if (group) steps.push_back(MeasureGroup(ctx, *group, sizes, profile));
  }
  profile.steps = std::move(steps);
}

}  // namespace tessera
