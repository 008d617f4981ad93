#ifndef TESSERA_TRAIN_AUTO_SHARD_H_
#define TESSERA_TRAIN_AUTO_SHARD_H_
// Shards a model over ranks by a plan that the planner finds, as TorchRec's
// DistributedModelParallel does when it is given none.
//
//   const RankingModel model = AutoShard(ctx, config, comm,
//                                       {.topology = ShippedTopology("h100", comm.size())});
//
// The plan is found by rank 0 alone and sent to the others as JSON, so that ranks cannot disagree,
// whatever machine or build each of them is.
#include <functional>
#include <optional>
#include <string>

#include "comm/communicator.h"
#include "models/ranking_model.h"
#include "planner/model/model.h"
#include "planner/model/topology_json.h"
#include "planner/planner.h"
#include "planner/step_model/calibrated_estimator.h"
#include "runtime/context.h"

namespace tessera {

// Returns the plan that the planner finds by the cost model of this name: torchrec, bandwidth or
// calibrated, for which alone `known` is; "": calibrated where `machine` has a profile, else
// bandwidth. `result`, if given, gets the planner's report. Throws PlannerError where nothing fits.
ShardingPlan FindPlan(const PlannerModel& model, const TopologyFile& machine,
                      const std::string& cost_model = "", PlanResult* result = nullptr,
                      const CalibratedOptions& known = {});

// Calls `find` on rank 0 alone and returns its plan on every rank. Throws Error on every rank if
// `find` throws, and unless the plan is for comm.size() ranks, or for `ranks` (those of a group) if
// given. Every rank calls.
ShardingPlan PlanOnLeader(Communicator& comm, const std::function<ShardingPlan()>& find,
                          std::optional<int> ranks = {});

struct AutoShardOptions {
  int64_t batch_size = 512;  // of each rank
  std::string cost_model = "";
  ShardingOptions sharding = {};
};
// Makes the model, and shards its tables by the plan that is found for `machine`; the calibrated
// cost model prices exchanges by the codecs of `options.sharding`. Every rank calls.
// Throws Error for a machine of another number of ranks than comm's.
RankingModel AutoShard(Context& ctx, const RankingModelConfig& config, Communicator& comm,
                       const TopologyFile& machine, const AutoShardOptions& options = {});

}  // namespace tessera
#endif  // TESSERA_TRAIN_AUTO_SHARD_H_
