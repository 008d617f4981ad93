#ifndef TESSERA_COMM_RANK_PROCESS_H_
#define TESSERA_COMM_RANK_PROCESS_H_
// The process of a rank, as the other ranks know it.
#include <sys/types.h>

#include <string>
#include <vector>

namespace tessera::internal {

// Plain bytes, which ranks exchange.
struct RankProcess {
  char host[80];  // equal where processes see each other by their numbers
  char name[72];  // of the machine, for messages
  pid_t pid;
};
RankProcess ThisProcess();

// The process' state: 'T' stopped, 't' held by a debugger, 'Z' ended, …; 0 if it cannot be seen.
char StateOf(pid_t pid);

// The processes that the process has started and that have not ended, as far as they can be seen.
std::vector<pid_t> LivingChildrenOf(pid_t pid);

// "rank 2 (process 4711 on node7)".
std::string NameOf(int rank, const RankProcess& process);

}  // namespace tessera::internal
#endif  // TESSERA_COMM_RANK_PROCESS_H_
