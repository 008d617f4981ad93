#include "cli/changed_statistics.h"

#include "cli/show/log.h"
#include "sharding/plan/plan_makers.h"

namespace tessera::cli {

void SayChangedStatistics(const CheckpointIndex& saved, const ShardingPlan& plan) {
  for (const std::string& sentence : StatisticsChanged(saved, plan)) Warn(sentence);
}

void SayChangedStatistics(const CheckpointIndex& saved) {
  SayChangedStatistics(saved, MakeShardingPlan({}, ShapesOf(saved.info), TableWise(0)));
}

}  // namespace tessera::cli
