#ifndef TESSERA_CLI_GPU_RANKS_H_
#define TESSERA_CLI_GPU_RANKS_H_
// Ranks of a command on GPUs: the GPU of each rank, and what carries tensors between them.
//
//   --device cuda     rank r of a node works on GPU r of the node, and ranks beyond the last GPU
//                     begin again with the first
//   --device cuda:K   all ranks of a node work on GPU K
//   --comm            nccl; host, what the ranks were started with (threads or MPI); or auto, nccl
//                     where it is found and each rank has a GPU of its own
#include <memory>
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "runtime/context.h"

namespace tessera::cli {

inline constexpr char kCommHelp[] =
    "What carries tensors between the GPUs of ranks: nccl; host, through host memory; or auto "
    "(default), nccl where it is found and each rank has a GPU of its own";

// Throws Error unless `comm` is auto, nccl or host, and for nccl beside a --device without GPUs.
void CheckComm(const std::string& comm, const std::string& device);

// The device of this rank; `host` is the communicator that the ranks were started with.
Device DeviceOfRank(const std::string& device, const Communicator& host);

// Prepares this process for ranks on GPUs, before CUDA is first used: CUDA then loads all kernels
// at once, unless ranks meet through the host, since to load one beside NCCL may wait for a device
// on which a kernel of NCCL waits for the very same rank. Throws Error where there is no GPU.
void PrepareGpuRanks(const std::string& device, const std::string& comm);

struct GpuRanks {
  std::unique_ptr<Communicator> nccl;  // null: the host's communicator carries tensors
  std::vector<int> sharing = {0};      // the ranks that work on this rank's GPU
  std::string why_host;                // a sentence where auto goes through the host, else ""
};

// How the ranks of `host`, each of which works on its ctx, exchange tensors; `comm` and `device`
// are the flags' texts. `host` outlives the result. Throws Error, on every rank, where --comm nccl
// cannot be. Every rank calls.
GpuRanks ConnectRanks(const std::string& comm, const std::string& device, Context& ctx,
                      Communicator& host);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_GPU_RANKS_H_
