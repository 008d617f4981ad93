#include "cli/changed_statistics.h"

#include <cstdio>

#include "sharding/plan/plan_makers.h"

namespace tessera::cli {

void SayChangedStatistics(const CheckpointIndex& saved, const ShardingPlan& plan) {
  for (const std::string& sentence : StatisticsChanged(saved, plan))
    std::fprintf(stderr, "%s\n", sentence.c_str());
}

void SayChangedStatistics(const CheckpointIndex& saved) {
  SayChangedStatistics(saved, MakeShardingPlan({}, ShapesOf(saved.info), TableWise(0)));
}

}  // namespace tessera::cli
