#ifndef TESSERA_PLANNER_STEP_MODEL_SHARD_WORK_H_
#define TESSERA_PLANNER_STEP_MODEL_SHARD_WORK_H_
// Work that a shard of a table makes in a step: for the rank that has it, and for every rank, since
// all of them send it ids and put its columns into their outputs. Work adds up over shards: a
// plan's step and a single shard's price come from these same numbers. The conventions are those of
// sharding/exchange/dist_layout.h and sharding/exchange/replica_exchange.h.
#include <vector>

#include "planner/step_model/machine_profile.h"
#include "planner/step_model/plan_routes.h"
#include "planner/step_model/step_load.h"
#include "planner/step_model/working_set.h"

namespace tessera {

// Bytes between a rank and the others.
struct WireBytes {
  double sent = 0, received = 0;

  WireBytes& operator+=(const WireBytes& other);
};

// Bytes of rows, or of their gradients, by the way they take (sharding/exchange/node_routes.h).
struct RouteBytes {
  WireBytes direct;           // to every rank
  WireBytes inside, between;  // by node

  RouteBytes& operator+=(const RouteBytes& other);
};

// Work of one rank. Seconds for what hangs on curves, counts and bytes for the rest.
struct RankWork {
  InputCounts input = {};
  OutputCounts output = {}, gradient = {};
  // Seconds; those of `disk` are spent waiting for its blocks.
  double lookup = 0, tiers = 0, disk = 0, output_codec = 0, gradient_codec = 0, update = 0;
  WireBytes ids;
  RouteBytes rows, gradients;
  double gathered = 0;  // bytes that a rank gives to all others (data_parallel)

  RankWork& operator+=(const RankWork& other);
};

// node: of the ranks of its node; everyone: of all.
struct ShardWork {
  RankWork own, node, everyone;
};

// Settings beside the shard.
struct WorkSettings {
  const MachineProfile* profile = nullptr;
  const WorkingSet* working_set = nullptr;
  const StepLoad* load = nullptr;
  double ranks = 1, local_size = 1;  // of all nodes, and of one
};

// A rectangle of a table that is not data_parallel. first_column_block: of those of its rows, in
// the order of the plan; the ids of the others are copies. REQUIRES: the shard has rows.
ShardWork WorkOfShard(const WorkSettings& settings, const StepTable& table, const Shard& shard,
                      bool first_column_block, ComputeKernel kernel, const ShardRoute& route = {});

// A data_parallel table: all its work is everyone's.
ShardWork WorkOfReplica(const WorkSettings& settings, const StepTable& table);

// Returns the work that a table makes for every rank however it is sharded.
RankWork WorkOfTable(const StepTable& table);

// A whole step under a plan, with the calls that it makes whatever it moves.
struct PlanWork {
  std::vector<RankWork> ranks;
  bool replicas = false;                 // there are data_parallel tables
  bool direct = false, by_node = false;  // how rows return; sequences directly
};
// REQUIRES: the plan is one of these tables and ranks.
PlanWork WorkOfPlan(const WorkSettings& settings, const ShardingPlan& plan);

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_SHARD_WORK_H_
