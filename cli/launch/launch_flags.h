#ifndef TESSERA_CLI_LAUNCH_LAUNCH_FLAGS_H_
#define TESSERA_CLI_LAUNCH_LAUNCH_FLAGS_H_
// The flags of tessera launch, and what is refused before anything starts.
#include <optional>
#include <string>
#include <vector>

#include "cli/command_line.h"
#include "cli/launch/hosts.h"
#include "cli/launch/saved_training.h"

namespace tessera::cli {

struct LaunchFlags {
  std::optional<int> ranks;
  std::string hostfile;
  int max_restarts = 3, min_ranks = 1;
  std::string restart_ranks = "left";
  std::vector<std::string> command;  // the words after --

  bool WithFewerRanks() const { return max_restarts > 0 && restart_ranks == "left"; }
};

void AddLaunchFlags(Command command, LaunchFlags& flags);

// Where the ranks of the first start run: without a hostfile one host without a name.
std::vector<HostSlots> HostsOf(const LaunchFlags& flags);

// The flags of the tessera train after --, with --rank-timeout and the log's flags. Throws Error
// for what cannot go on after the loss of a rank of so many.
TrainWords CheckedTrain(const LaunchFlags& flags, int ranks);

// Seconds that a rank may be stopped before the ranks watch each other, for starting takes some;
// 0 where --rank-timeout lets them wait for ever.
double LongestStop(const TrainWords& train);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_LAUNCH_LAUNCH_FLAGS_H_
