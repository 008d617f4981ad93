#ifndef TESSERA_COMM_NCCL_NCCL_COMMUNICATOR_H_
#define TESSERA_COMM_NCCL_NCCL_COMMUNICATOR_H_
// Ranks that have a GPU each, over NVIDIA's NCCL. NCCL is looked for when the first communicator is
// made (TESSERA_NCCL_LIBRARY, else libnccl.so.2), so one program runs with and without it.
//
// Exchanges run on a stream of their own, after what the caller's stream was given so far; Wait
// orders the caller's stream after them and does not hold up the host (Barrier's does). AllReduce,
// ReduceScatter, AllGather and Broadcast are NCCL's; AllToAllV, and what is made of it, is grouped
// sends and receives.
//
// Send and Receive wait for each other in the order of the stream: they are started together when a
// Receive is waited for, or at the next call of any kind on this communicator.
//
// A thread watches the calls that are on their way. What NCCL reports later, a call without a
// result in time, or the end of the host's group ends this one as Abort does; the text says which
// rank and which call. Calls of other processes end with them: the host's Abort ends the job.
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "runtime/context.h"

namespace tessera {

struct NcclOptions {
  // How long making the communicator may take, and then each call, from the moment the stream has
  // come to it. 0: for ever.
  double timeout_seconds = 600;
  // Compares what ranks call, and how many elements they expect, by a round over the host's
  // communicator before each collective. Without it, calls that differ end in a time-out.
  bool check_calls = false;
};

// Why this process cannot use NCCL, with how to get it; "" if it can.
std::string WhyNoNccl();

// Makes a communicator of the ranks of `host` (threads or processes), which carries strings,
// numbers and NCCL's id. ctx says which GPU. Every rank calls. Throws Error on every rank if one
// has no NCCL or another version; on a machine without it the text says how to get it.
std::unique_ptr<Communicator> MakeNcclCommunicator(Context& ctx, std::shared_ptr<Communicator> host,
                                                   NcclOptions options = {});

}  // namespace tessera
#endif  // TESSERA_COMM_NCCL_NCCL_COMMUNICATOR_H_
