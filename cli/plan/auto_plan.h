#ifndef TESSERA_CLI_PLAN_AUTO_PLAN_H_
#define TESSERA_CLI_PLAN_AUTO_PLAN_H_
// `tessera train --plan auto`: what tessera plan would write.
#include <string>

#include "comm/communicator.h"
#include "runtime/device/device.h"
#include "sharding/plan/plan_makers.h"
#include "train/config/train_config.h"

namespace tessera::cli {

// By what was measured where `topology` names a file of tessera calibrate, or a machine by name;
// without it by the shipped cpu, or h100. Rank 0 plans for all; every rank calls.
ShardingPlan AutoPlan(const TrainConfig& config, Communicator& comm, const RankLayout& layout,
                      Device device, const std::string& topology);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_PLAN_AUTO_PLAN_H_
