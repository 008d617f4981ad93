#ifndef TESSERA_CLI_TRAIN_RANK_REPORTS_H_
#define TESSERA_CLI_TRAIN_RANK_REPORTS_H_
// Ranks tell the tessera launch that started them how they fare by files in a folder, which the
// environment variable TESSERA_LAUNCH names. It lies beside the checkpoint, which ranks on all
// hosts write anyway. A file is there as a whole or not at all; lines of several ranks on standard
// error may be cut or lost where ranks are killed, and say other things in other formats.
//
//   R.process  {"process": 4711, "host": "node7 …"}: rank R heeds signals of cli/interrupt.h
//              from now on
//   R.ended    {"code": 0}: rank R ends by itself, well or by an error (1); it says so before any
//              other rank fails
//   R.lost.L   {"what": "rank L (process 4711 on node7) …", "with_host": false, "step": 137}:
//              rank R found rank L lost, which had not ended by itself, after so many steps
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "comm/mpi/mpi_communicator.h"

namespace tessera::cli {

inline constexpr char kLaunchFolder[] = "TESSERA_LAUNCH";

// A rank's reports. They do nothing in a process that tessera launch did not start.
void ReportProcess();
void ReportStep(int64_t step);  // it is trained; by any thread
void ReportEnd(int code) noexcept;
void ReportLoss(const LostRank& lost) noexcept;

struct ReportedLoss {
  LostRank lost;
  std::optional<int64_t> step;  // trained before; absent where none was, or nobody knows
};
// Losses that were reported into the folder, one a rank, by rank.
std::vector<ReportedLoss> LossesIn(const std::string& folder);

// The exit code of a start whose ranks have all ended by themselves: the largest of theirs.
std::optional<int> CodeOfRanks(const std::string& folder, int ranks);

// The process of the first rank that trains on this host; 0 if there is none yet.
pid_t ProcessHere(const std::string& folder);
// The processes of this host's ranks that have said that they run, by rank.
std::vector<pid_t> ProcessesHere(const std::string& folder);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_TRAIN_RANK_REPORTS_H_
