#ifndef TESSERA_CLI_CHANGED_STATISTICS_H_
#define TESSERA_CLI_CHANGED_STATISTICS_H_
// What becomes of optimizer states of one number a row where blocks of columns are cut otherwise than they
// were saved: said on stderr, a sentence each.
#include "sharding/checkpoint/checkpoint.h"
#include "sharding/plan/plan.h"

namespace tessera::cli {

void SayChangedStatistics(const CheckpointIndex& saved, const ShardingPlan& plan);
// Where tables are put together to whole ones.
void SayChangedStatistics(const CheckpointIndex& saved);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_CHANGED_STATISTICS_H_
