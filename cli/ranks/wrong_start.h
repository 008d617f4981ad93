#ifndef TESSERA_CLI_RANKS_WRONG_START_H_
#define TESSERA_CLI_RANKS_WRONG_START_H_
// Mistakes in the start of a command that mpirun starts as several processes: what all of them find
// is said once, and what one alone finds is said with its rank.
#include <string>

#include "comm/communicator.h"
#include "comm/mpi/mpi_communicator.h"

namespace tessera::cli {

// The mistakes in a start of processes, said once they have met; "" where there is none.
struct WrongStart {
  std::string claims;  // of outputs, which the first process makes for all
  std::string start;   // of all else that each finds
};
// Throws what is wrong on all ranks once, and what is wrong on one with its rank. Every rank calls.
void ThrowWrongSync(const WrongStart& wrong, Communicator& comm);

// Options of RunMpiRank with which the reason of an ErrorOfAllRanks is the command's last line.
// `own_thread`: exchanges move on while this process computes, as they do between hosts.
MpiOptions MpiOptionsOf(bool own_thread);

// Says why the command's flags are refused; returns the exit code. Ranks of the commands that meet
// call ThrowWrongSync first of all, also those without a mistake. Other commands do as
// SayOnceUnderMpirun.
int SayWrongFlags(const std::string& command, const std::string& why);
// Says why a command has failed; returns the exit code. Of a command whose ranks do not meet, the
// first process speaks at once, and the others wait for mpirun to end them because of that.
int SayOnceUnderMpirun(const std::string& command, const std::string& why);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_RANKS_WRONG_START_H_
