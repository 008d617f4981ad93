#ifndef TESSERA_COMM_CHECK_EXCHANGE_H_
#define TESSERA_COMM_CHECK_EXCHANGE_H_
// Checks that every backend makes on the tensors of an all-to-all-v.
#include <vector>

#include "comm/call.h"
#include "comm/communicator.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Throws Error unless there is one contiguous tensor [n] and one count for each rank, the tensors
// are of one type and on ctx's device, and this rank expects of itself what it sends itself.
void CheckExchange(const Communicator& comm, Context& ctx, const std::vector<Tensor>& send,
                   const std::vector<int64_t>& receive_counts, const Call& call);

}  // namespace tessera::internal
#endif  // TESSERA_COMM_CHECK_EXCHANGE_H_
