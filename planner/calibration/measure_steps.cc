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

constexpr double kShortLayer = 2e-3;  // seconds

double LayerFlops(const MeasureSizes& sizes, double width) {
  return 6.0 * static_cast<double>(sizes.Bags(512)) * width * width;
}

// Tables of a small ranking model, and a linear layer.
StepLoad LoadOf(double bags, double layer_flops) {
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
  load.dense_flops = {layer_flops};
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

StepPrediction Predicted(const MachineProfile& profile, const StepLoad& load,
                         const ShardingPlan& plan) {
  return StepModel(profile, load, {plan.world_size, plan.world_size}).Predict(plan);
}

// A step's bill of {1, work of tables, linear layers}.
Bill MeasureStep(Context& ctx, Communicator& comm, const MachineProfile& profile,
                 const StepLoad& load, const ShardingPlan& plan, double seconds) {
  StepLoad tables = load;
  tables.dense_flops.clear();
  const StepPrediction step = Predicted(profile, load, plan);
  const double work = Predicted(profile, tables, plan).seconds - step.waiting;
  const double measured = TimePlan(ctx, comm, load, plan, seconds).seconds;
  // Waiting is taken as measured; at least a quarter of a step is taken to be work.
  return {{1, work, step.seconds - step.waiting - work},
          std::max(measured - step.waiting, measured / 4)};
}

StepOverhead MeasureGroup(Context& ctx, Communicator& comm, const MeasureSizes& sizes,
                          const MachineProfile& profile) {
  struct Size {
    int64_t bags;
    double width;  // of the linear layer: steps of tables, of layers, and of both
  };
  std::vector<Bill> bills;
  std::vector<Size> all = {{64, 256}, {512, 128}, {1024, 512}};
  // On a GPU layers of these widths take as long as each other.
  if (const double wide = 2048; DenseSeconds(profile, LayerFlops(sizes, wide)) < kShortLayer)
    all.push_back({512, wide});
  for (const Size& size : all) {
    const StepLoad load =
        LoadOf(static_cast<double>(sizes.Bags(size.bags)), LayerFlops(sizes, size.width));
    for (const ShardingPlan& plan : MakePlans(load, comm.size()))
      bills.push_back(MeasureStep(ctx, comm, profile, load, plan, 3 * sizes.seconds_a_point));
  }
  const std::vector<double> prices = FitWithOverhead(std::move(bills));
  return {comm.size(), prices[0], prices[1], prices[2]};
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
