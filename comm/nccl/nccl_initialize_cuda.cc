#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>

#include "comm/nccl/nccl_initialize.h"
#include "runtime/base/check.h"
#include "runtime/base/start_threads.h"
#include "runtime/device/cuda_check.h"

namespace tessera::internal {
namespace {

// The result of ncclCommInitRank, which runs in a thread of its own: it returns only when every
// rank has called it, and nothing but the end of the process ends it.
struct Initialization {
  std::mutex mutex;
  std::condition_variable changed;
  bool done = false;
  int status = 0;
  NcclComm comm = nullptr;
};

std::shared_ptr<Initialization> StartInitialization(Device device, int ranks,
                                                    const NcclUniqueId& id, int rank) {
  auto started = std::make_shared<Initialization>();
  const auto initialize = [=] {
    NcclComm comm = nullptr;
    int status = cudaSetDevice(device.index) == cudaSuccess ? 0 : kNcclCudaError;
    if (status == 0) status = Nccl().comm_init_rank(&comm, ranks, id, rank);
    const std::lock_guard lock(started->mutex);
    started->comm = comm;
    started->status = status;
    started->done = true;
    started->changed.notify_all();
  };
  StartThread("thread that starts NCCL", initialize).detach();
  return started;
}

}  // namespace

NcclComm InitializeComm(Context& ctx, Communicator& host, const NcclUniqueId& id,
                        const NcclOptions& options) {
  const auto started = StartInitialization(ctx.device(), host.size(), id, host.rank());
  std::unique_lock lock(started->mutex);
  const auto done = [&] { return started->done; };
  if (options.timeout_seconds == 0)
    started->changed.wait(lock, done);
  else
    started->changed.wait_for(lock, std::chrono::duration<double>(options.timeout_seconds), done);
  TESSERA_CHECK(started->done, "rank {} of {}: ncclCommInitRank on {}: no result after {} s",
                host.rank(), host.size(), ctx.device(), options.timeout_seconds);
  TESSERA_CHECK(started->status == 0, "rank {} of {}: ncclCommInitRank on {}: {} ({})", host.rank(),
                host.size(), ctx.device(), Nccl().get_error_string(started->status),
                Nccl().get_last_error(nullptr));
  return started->comm;
}

}  // namespace tessera::internal
