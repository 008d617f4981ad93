#include "comm/nccl/nccl_communicator.h"

#include <string>

#include "comm/nccl/nccl_communicator_impl.h"
#include "runtime/base/check.h"
#include "runtime/device/dispatch.h"

namespace tessera {

std::unique_ptr<Communicator> internal::MakeNcclCommunicator(OnCpu, Context& ctx,
                                                             std::shared_ptr<Communicator> host,
                                                             const NcclOptions&) {
  TESSERA_FAIL(
      "NCCL exchanges tensors of GPUs, but rank {} works on {}: use a context on a CUDA device, or "
      "the communicator \"{}\" itself",
      host->rank(), ctx.device(), host->backend());
}

std::string WhyNoNccl() {
  if constexpr (!kWithCuda) return "this build of Tessera runs on the CPU only";
  std::string why;
  OnlyOnCuda(Device::Cuda(), [&](auto on) { why = internal::WhyNoNccl(on); });
  return why;
}

std::unique_ptr<Communicator> MakeNcclCommunicator(Context& ctx, std::shared_ptr<Communicator> host,
                                                   NcclOptions options) {
  TESSERA_CHECK(host != nullptr, "MakeNcclCommunicator: no communicator of the host");
  TESSERA_CHECK(options.timeout_seconds >= 0, "MakeNcclCommunicator: a time-out of {} s",
                options.timeout_seconds);
  return DispatchDevice(ctx.device(), [&](auto on) {
    return internal::MakeNcclCommunicator(on, ctx, std::move(host), options);
  });
}

}  // namespace tessera
