#ifndef TESSERA_COMM_NCCL_NCCL_FUNCTIONS_H_
#define TESSERA_COMM_NCCL_NCCL_FUNCTIONS_H_
// The functions used of NCCL's C interface, found when they are first asked for. NCCL's header is
// not needed: these are its types and numbers.
#include <cstddef>

#include "comm/reduce.h"
#include "runtime/numbers/dtype.h"

namespace tessera::internal {

struct NcclUniqueId {
  char bytes[128];
};
using NcclComm = void*;  // ncclComm_t

// A status of 0 is success.
struct NcclFunctions {
  using Status = int;
  Status (*get_version)(int* version);
  const char* (*get_error_string)(Status status);
  const char* (*get_last_error)(NcclComm comm);
  Status (*get_unique_id)(NcclUniqueId* id);
  Status (*comm_init_rank)(NcclComm* comm, int ranks, NcclUniqueId id, int rank);
  Status (*comm_split)(NcclComm comm, int color, int key, NcclComm* part, void* config);
  Status (*comm_destroy)(NcclComm comm);
  Status (*comm_abort)(NcclComm comm);
  Status (*comm_get_async_error)(NcclComm comm, Status* status);
  Status (*group_start)();
  Status (*group_end)();
  Status (*send)(const void* from, size_t count, int type, int to, NcclComm comm, void* stream);
  Status (*recv)(void* to, size_t count, int type, int from, NcclComm comm, void* stream);
  Status (*all_reduce)(const void* from, void* to, size_t count, int type, int op, NcclComm comm,
                       void* stream);
  Status (*reduce_scatter)(const void* from, void* to, size_t count, int type, int op,
                           NcclComm comm, void* stream);
  Status (*all_gather)(const void* from, void* to, size_t count, int type, NcclComm comm,
                       void* stream);
  Status (*broadcast)(const void* from, void* to, size_t count, int type, int root, NcclComm comm,
                      void* stream);
};

inline constexpr int kNcclBytes = 1, kNcclInProgress = 7, kNcclNoColor = -1;
inline constexpr int kNcclCudaError = 1;  // ncclUnhandledCudaError
// NCCL's number of a type that is reduced, and of a reduction.
int NcclType(DType dtype);
int NcclOp(ReduceOp op);

// Throws Error, which says how to get NCCL, if there is none; asks again the next time.
const NcclFunctions& Nccl();

}  // namespace tessera::internal
#endif  // TESSERA_COMM_NCCL_NCCL_FUNCTIONS_H_
