#ifndef TESSERA_PLANNER_STEP_MODEL_STEP_MODEL_H_
#define TESSERA_PLANNER_STEP_MODEL_STEP_MODEL_H_
// How long a training step of a sharded model takes on a machine that was measured: what every rank
// does, by the formulas of shard_work.h, and what the step makes of it.
//
//   phase = max( its busiest rank, the largest over nodes of Σ ranks' work · threads / cores )
//           + the longest waiting for a disk and for the exchange that ends it
//   step  = what any step takes + Σ over phases: ids (with the update of the step before), lookup,
//           and the way home, the dense part and the way back
//
// An exchange waits for every rank, so each phase lasts as long as its busiest rank. Work needs a
// core, waiting does not. Ranks of a node share its cores; without (cores = 0, as on GPUs) the
// second term is not there. Where one rank is the busiest in all phases, or the cores the limit in
// all, the step is max(busiest rank, Σ ranks / cores).
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "planner/step_model/shard_work.h"
#include "sharding/plan/plan.h"
#include "sharding/plan/plan_makers.h"

namespace tessera {

// Seconds of an exchange in two steps: among the ranks of a node, and among those that have the
// same place in every node.
struct NodeWire {
  double inside = 0, between = 0;

  double seconds() const { return inside + between; }
};

// Seconds of one rank, or those that one shard adds to it.
struct RankSeconds {
  // Work.
  double input_dist = 0, lookup = 0, output_dist = 0, gradient_dist = 0, update = 0, dense = 0;
  double tiers = 0;  // what tables elsewhere than in the device's memory take more
  // Waiting: for blocks that the node's ranks read from its disk, and for an exchange of ids, rows,
  // gradients, dense gradients.
  double disk = 0;
  double ids_wire = 0, rows_wire = 0, gradients_wire = 0, dense_wire = 0;
  // Parts of rows_wire and gradients_wire.
  NodeWire rows_by_node = {}, gradients_by_node = {};

  double work() const {
    return input_dist + lookup + tiers + output_dist + gradient_dist + update + dense;
  }
  double waiting() const { return disk + ids_wire + rows_wire + gradients_wire + dense_wire; }
  double total() const { return work() + waiting(); }
  RankSeconds& operator+=(const RankSeconds& other);
  friend RankSeconds operator*(RankSeconds seconds, double factor);
};

// The parts by name: "input_dist", "lookup", …, "exchange of dense gradients".
std::vector<std::pair<std::string, double>> PartsOf(const RankSeconds& seconds);
// "update", "output_dist", …: the largest part.
std::string LargestPart(const RankSeconds& seconds);

struct StepPrediction {
  double seconds = 0;
  double waiting = 0;  // of that, for the network and disks
  std::vector<RankSeconds> ranks;
  int busiest = 0;
  // Most of the step is limited by all ranks of a node together, not by the busiest one.
  bool limited_by_cores = false;
};

// Seconds that one shard adds to its rank, and to every rank (its own among them). Calls and
// latencies, which any plan has, are not included.
struct ShardSeconds {
  RankSeconds own, everyone;
};

class StepModel {
 public:
  // Throws Error for tables without rows, dim or a rule that there is, features without bags, and
  // ranks that do not fill nodes.
  StepModel(MachineProfile profile, StepLoad load, RankLayout layout);
  StepModel(const StepModel&) = delete;
  StepModel& operator=(const StepModel&) = delete;

  const MachineProfile& profile() const { return profile_; }
  const StepLoad& load() const { return load_; }
  const RankLayout& layout() const { return layout_; }

  // Throws Error for a plan that is not one of these tables and ranks. Nodes are the layout's.
  StepPrediction Predict(const ShardingPlan& plan) const;

  // One shard of a table by its place in load().tables; its rank is not looked at. Of data_parallel
  // the shard is a replica, and everyone's part is 0: each rank has one.
  ShardSeconds PriceShard(int table, ShardingType type, const Shard& shard, bool first_column_block,
                          ComputeKernel kernel = ComputeKernel::kFused) const;

 private:
  WorkSettings settings() const {
    return {&profile_, &working_set_, &load_, static_cast<double>(layout_.world_size),
            static_cast<double>(layout_.local_size)};
  }
  RankSeconds SecondsOf(const RankWork& work) const;
  double DirectSeconds(const RouteBytes& bytes, const PlanWork& plan) const;
  NodeWire NodeSeconds(const RouteBytes& bytes, const PlanWork& plan) const;
  void AddWire(const RankWork& work, const PlanWork& plan, RankSeconds& seconds) const;
  void AddDense(RankSeconds& seconds) const;

  MachineProfile profile_;
  StepLoad load_;
  RankLayout layout_;
  WorkingSet working_set_;
};

// The step of ranks that do this, of which `local_size` consecutive ones share `cores` (0: none).
StepPrediction StepOf(std::vector<RankSeconds> ranks, int local_size, int cores, int threads);

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_STEP_MODEL_H_
