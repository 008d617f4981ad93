#ifndef TESSERA_CLI_LAUNCH_MPIRUN_H_
#define TESSERA_CLI_LAUNCH_MPIRUN_H_
// One start of tessera train on ranks, by Open MPI's mpirun.
#include <string>
#include <vector>

#include "cli/train/rank_reports.h"

namespace tessera::cli {

// The path of mpirun. Throws Error, which names the package, where it is not in PATH.
std::string FindMpirun();

struct MpirunStart {
  std::string mpirun;
  int ranks = 1;
  std::string hostfile;            // "": all ranks on this host
  std::vector<std::string> words;  // of tessera, which the ranks run: "train", …
  std::string reports;             // the folder of the ranks' reports, which is made
  double longest_stop_s = 0;       // that a rank of this host may be stopped; 0: for ever
};

struct MpirunEnd {
  // The exit code of the ranks, where all have ended by themselves, or else mpirun's: 128 + N where
  // signal N ended it itself.
  int code = 0;
  bool mpirun_was_killed = false;    // by a signal
  std::vector<ReportedLoss> losses;  // as ranks reported them
};

// Runs it to its end. Output passes through, standard error without NULs. A signal of
// cli/interrupt.h goes to one rank, which has all save and end, or to mpirun, as SIGTERM, where no
// rank heeds it yet: mpirun kills its ranks soon after, whatever they save. A rank of this host
// that stays stopped while no other rank watches it, before they have met or when all have trained
// and left, is killed.
MpirunEnd RunMpirun(const MpirunStart& start);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_LAUNCH_MPIRUN_H_
