#ifndef TESSERA_COMM_MPI_MPI_WATCHDOG_H_
#define TESSERA_COMM_MPI_MPI_WATCHDOG_H_
// The message that a process prints when SIGTERM ends it.
#include <string>

namespace tessera::internal {

// Prints `rank R: ended by SIGTERM` and the last status, then ends the process, on SIGTERM. Does
// nothing if the program handles that signal itself.
void StartWatchdog(int rank);
// The rank has said why it ends.
void StopWatchdog();
// `in AllReduce "dense gradients" (call 5)`.
void SetWatchdogStatus(const std::string& status);

}  // namespace tessera::internal
#endif  // TESSERA_COMM_MPI_MPI_WATCHDOG_H_
