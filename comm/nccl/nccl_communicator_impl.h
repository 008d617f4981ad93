#ifndef TESSERA_COMM_NCCL_NCCL_COMMUNICATOR_IMPL_H_
#define TESSERA_COMM_NCCL_NCCL_COMMUNICATOR_IMPL_H_
// The factory of NCCL communicators, for each kind of device.
#include <memory>
#include <string>

#include "comm/nccl/nccl_communicator.h"
#include "runtime/device/device.h"

namespace tessera::internal {

std::unique_ptr<Communicator> MakeNcclCommunicator(OnCpu, Context& ctx,
                                                   std::shared_ptr<Communicator> host,
                                                   const NcclOptions& options);
std::string WhyNoNccl(OnCuda);
std::unique_ptr<Communicator> MakeNcclCommunicator(OnCuda, Context& ctx,
                                                   std::shared_ptr<Communicator> host,
                                                   const NcclOptions& options);

}  // namespace tessera::internal
#endif  // TESSERA_COMM_NCCL_NCCL_COMMUNICATOR_IMPL_H_
