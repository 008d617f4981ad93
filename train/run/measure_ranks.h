#ifndef TESSERA_TRAIN_RUN_MEASURE_RANKS_H_
#define TESSERA_TRAIN_RUN_MEASURE_RANKS_H_
// Time and memory of the ranks that train, and their groups.
#include <optional>
#include <vector>

#include "comm/communicator.h"
#include "train/run/training_report.h"
#include "train/trainer.h"

namespace tessera {

// The reports of all ranks, of which this one's is `mine`. Every rank calls.
std::vector<RankReport> RankReportsSync(Communicator& comm, const RankReport& mine);

// The largest figures of all.
ProcessMemory LargestMemory(const std::vector<RankReport>& ranks);

// Absent for one sharding group.
std::optional<GroupsReport> GroupsReportOf(const Trainer& trainer);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_MEASURE_RANKS_H_
