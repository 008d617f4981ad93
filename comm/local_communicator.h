#ifndef TESSERA_COMM_LOCAL_COMMUNICATOR_H_
#define TESSERA_COMM_LOCAL_COMMUNICATOR_H_
// Ranks that are threads of one process: for tests, notebooks, and training on one machine. Nothing
// is copied: a receiver gets the sender's tensors.
#include <functional>
#include <memory>
#include <vector>

#include "comm/communicator.h"

namespace tessera {

// One communicator a rank, of one group.
std::vector<std::unique_ptr<Communicator>> MakeLocalCommunicators(int ranks);

// Runs fn(communicator of the rank) on `ranks` threads and waits for all. If one throws, it aborts
// the group and the first failure is rethrown here, as an Error that names the rank, unless it is
// an ErrorOfAllRanks.
void RunLocalRanks(int ranks, const std::function<void(Communicator&)>& fn);

}  // namespace tessera
#endif  // TESSERA_COMM_LOCAL_COMMUNICATOR_H_
