#ifndef TESSERA_COMM_SAME_CALLS_H_
#define TESSERA_COMM_SAME_CALLS_H_
// Compares what ranks call and expect, before an exchange that cannot detect a difference.
#include <vector>

#include "comm/call.h"
#include "comm/communicator.h"

namespace tessera::internal {

// Throws Error that names both unless every rank of `host` made this call, and sent as many
// elements of this type as are expected. sent, expected: elements to and from each rank. Every rank
// calls. Waits.
void CheckSameCalls(Communicator& host, const Call& call, DType dtype,
                    const std::vector<int64_t>& sent, const std::vector<int64_t>& expected);

}  // namespace tessera::internal
#endif  // TESSERA_COMM_SAME_CALLS_H_
