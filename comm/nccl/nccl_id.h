#ifndef TESSERA_COMM_NCCL_NCCL_ID_H_
#define TESSERA_COMM_NCCL_NCCL_ID_H_
// The exchange of the id by which ranks join one NCCL group.
#include "comm/communicator.h"
#include "comm/nccl/nccl_functions.h"

namespace tessera::internal {

// The id that rank 0 makes, on every rank. Throws Error on every rank, naming one, if it has no
// NCCL or another version than rank 0. Every rank calls.
NcclUniqueId AgreeOnNcclId(Communicator& host);

}  // namespace tessera::internal
#endif  // TESSERA_COMM_NCCL_NCCL_ID_H_
