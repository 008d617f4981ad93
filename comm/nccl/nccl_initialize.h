#ifndef TESSERA_COMM_NCCL_NCCL_INITIALIZE_H_
#define TESSERA_COMM_NCCL_NCCL_INITIALIZE_H_
// The call by which a rank joins the NCCL group of an id, with an end to the wait for other ranks.
#include "comm/nccl/nccl_communicator.h"
#include "comm/nccl/nccl_functions.h"
#include "runtime/context.h"

namespace tessera::internal {

// NCCL's communicator of host's rank on ctx's device. Throws Error if NCCL refuses, or if some rank
// has not called within options.timeout_seconds (0 waits without end). Every rank calls.
NcclComm InitializeComm(Context& ctx, Communicator& host, const NcclUniqueId& id,
                        const NcclOptions& options);

}  // namespace tessera::internal
#endif  // TESSERA_COMM_NCCL_NCCL_INITIALIZE_H_
