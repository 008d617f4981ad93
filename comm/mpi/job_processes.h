#ifndef TESSERA_COMM_MPI_JOB_PROCESSES_H_
#define TESSERA_COMM_MPI_JOB_PROCESSES_H_
// The processes of this job's ranks on this host, before they have told each other who they are:
// by what PMIx launchers (Open MPI's mpirun, Slurm) put into the environment of each.
#include <sys/types.h>

#include <map>
#include <set>

namespace tessera::internal {

// Whether a launcher that speaks PMIx started this process, so that the others can be found.
bool InPmixJob();

struct JobProcesses {
  // By process: those of a script that starts the rank's program, and of the program.
  std::map<pid_t, int> ranks;
  std::set<int> local_ranks;  // places among the ranks of this host, of all in `ranks`
  // Whether these are all: the launcher is in sight and runs, and so is none that it is starting.
  bool complete = false;
};
JobProcesses FindJobProcesses();

}  // namespace tessera::internal
#endif  // TESSERA_COMM_MPI_JOB_PROCESSES_H_
