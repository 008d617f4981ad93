#ifndef TESSERA_CLI_CHANGED_STATISTICS_H_
#define TESSERA_CLI_CHANGED_STATISTICS_H_
// Warnings on stderr about optimizer states of one number a row, where blocks of columns are cut in
// another way than they were saved: a sentence each.
#include "sharding/checkpoint/checkpoint.h"
#include "sharding/plan/plan.h"

namespace tessera::cli {

void SayChangedStatistics(const CheckpointIndex& saved, const ShardingPlan& plan);
// Prints the warnings for tables that are put together to whole ones.
void SayChangedStatistics(const CheckpointIndex& saved);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_CHANGED_STATISTICS_H_
