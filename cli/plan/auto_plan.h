#ifndef TESSERA_CLI_PLAN_AUTO_PLAN_H_
#define TESSERA_CLI_PLAN_AUTO_PLAN_H_
// `--plan auto` of tessera train and tessera reshard: the plan that tessera plan would write.
#include <string>
#include <string_view>

#include "comm/communicator.h"
#include "quant/wire_codec.h"
#include "runtime/device/device.h"
#include "sharding/plan/plan_makers.h"
#include "train/config/train_config.h"

namespace tessera::cli {

// Ranks that a plan is for.
struct PlannedRanks {
  RankLayout layout;
  Device device = Device::Cpu();
  // A file of tessera calibrate or the name of a machine; "": the shipped cpu, or h100.
  std::string topology = "";
  WireCodecs codecs = {};  // of their exchanges
};

// Plans with the costs of the topology, and notes the time of tables in a step; warns where these
// do not know the work of the codecs. Throws PlannerError where nothing fits. backend: what the
// ranks of this run exchange by (Communicator::backend), "" where none run; throws Error for a file
// that was measured with ranks as threads where these are processes, and the other way round.
ShardingPlan FindAutoPlan(const TrainConfig& config, const PlannedRanks& ranks,
                          std::string_view backend = "");

// Finds the plan on rank 0 and returns it on every rank. Every rank calls.
ShardingPlan AutoPlan(const TrainConfig& config, Communicator& comm, const PlannedRanks& ranks);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_AUTO_PLAN_H_
