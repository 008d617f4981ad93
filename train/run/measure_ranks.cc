#include "train/run/measure_ranks.h"

#include <algorithm>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

// The reports of all ranks, of which this one's is `mine`. Every rank calls.

std::vector<RankReport> RankReportsSync(Communicator& comm, const RankReport& mine) {
  const std::string text = Format("{} {} {} {}", mine.seconds, mine.exchange_seconds,
                                  mine.memory.bytes, mine.memory.peak_bytes);
  std::vector<RankReport> ranks;
  for (const std::string& of_rank : comm.GatherStringsSync(text, "time and memory of the ranks")) {
    RankReport& rank = ranks.emplace_back();
    std::istringstream(of_rank) >> rank.seconds >> rank.exchange_seconds >> rank.memory.bytes >>
        rank.memory.peak_bytes;
  }
  return ranks;
}

// The largest figures of all.
ProcessMemory LargestMemory(const std::vector<RankReport>& ranks) {
  ProcessMemory largest;
  for (const RankReport& rank : ranks) {
    largest.bytes = std::max(largest.bytes, rank.memory.bytes);
    largest.peak_bytes = std::max(largest.peak_bytes, rank.memory.peak_bytes);
  }
  return largest;
}

// Absent for one sharding group.
std::optional<GroupsReport> GroupsReportOf(const Trainer& trainer) {
  if (trainer.num_groups() == 1) return std::nullopt;
  const TrainingRanks& ranks = *trainer.ranks();
  return GroupsReport{.groups = ranks.num_groups(),
                      .ranks_of_each = ranks.sharding().size(),
                      .sync_interval = ranks.sync_interval,
                      .averages = trainer.averages()};
}

}  // namespace

void MeasureSync(const Trainer& trainer, double exchange_seconds, TrainingRunReport& report) {
  report.memory = MemoryOfProcess();
  if (trainer.comm() == nullptr) return;
  const RankReport mine = {report.seconds, exchange_seconds, report.memory};
  report.ranks = RankReportsSync(*trainer.comm(), mine);
  report.memory = LargestMemory(report.ranks);
  report.groups = GroupsReportOf(trainer);
}

}  // namespace tessera
