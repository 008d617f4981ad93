#include "cli/gpu_ranks.h"

#include <algorithm>
#include <cstdlib>
#include <map>

#include "comm/mpi/mpi_communicator.h"
#include "comm/nccl/nccl_communicator.h"
#include "runtime/base/check.h"
#include "runtime/device/device_properties.h"

namespace tessera::cli {
namespace {

// Why two ranks have no GPUs of their own; "" if all have.
std::string WhyShared(const std::vector<std::string>& gpus) {
  std::map<std::string, size_t> first;
  for (size_t r = 0; r < gpus.size(); ++r) {
    const auto [found, added] = first.try_emplace(gpus[r], r);
    if (!added)
      return Format("ranks {} and {} share a GPU, and NCCL takes one rank a GPU", found->second, r);
  }
  return "";
}

// Why some rank cannot use NCCL; "" if all can. Every rank calls.
std::string WhyNoNcclOnRanks(Communicator& host) {
  const std::vector<std::string> reasons =
      host.GatherStringsSync(WhyNoNccl(), "whether NCCL is found");
  for (size_t r = 0; r < reasons.size(); ++r)
    if (!reasons[r].empty()) return Format("on rank {}, {}", r, reasons[r]);
  return "";
}

}  // namespace

void CheckComm(const std::string& comm, const std::string& device) {
  if (comm != "auto" && comm != "nccl" && comm != "host")
    throw Error(Format("--comm {}: expected auto, nccl or host", comm));
  if (comm == "nccl" && ParseDevice(device) == Device::Cpu())
    throw Error(
        "--comm nccl beside --device cpu: NCCL exchanges tensors of GPUs: give --device cuda, or "
        "leave --comm out");
}

Device DeviceOfRank(const std::string& device, const Communicator& host) {
  if (device != "cuda") return ParseDevice(device);
  const int place = UnderMpirun() ? MpiLocalRank() : host.rank();
  return Device::Cuda(place % std::max(1, CudaDeviceCount()));
}

void PrepareGpuRanks(const std::string& device, const std::string& comm) {
  const Device parsed = ParseDevice(device);
  if (parsed == Device::Cpu()) return;
  if (comm != "host") setenv("CUDA_MODULE_LOADING", "EAGER", /*overwrite=*/0);
  if (CudaDeviceCount() == 0) Context({.device = parsed, .threads = 1});  // says why
}

GpuRanks ConnectRanks(const std::string& comm, const std::string& device, Context& ctx,
                      Communicator& host) {
  GpuRanks ranks;
  if (ctx.device() == Device::Cpu()) return ranks;
  const std::vector<std::string> gpus =
      host.GatherStringsSync(PropertiesOf(ctx.device()).uuid, "the GPUs of the ranks");
  ranks.sharing.clear();
  for (int r = 0; r < host.size(); ++r)
    if (gpus[static_cast<size_t>(r)] == gpus[static_cast<size_t>(host.rank())])
      ranks.sharing.push_back(r);
  if (comm == "host" || (comm == "auto" && host.size() == 1)) return ranks;
  std::string why = WhyShared(gpus);
  if (why.empty()) why = WhyNoNcclOnRanks(host);
  if (why.empty()) {
    const std::shared_ptr<Communicator> shared(&host, [](Communicator*) {});
    ranks.nccl = MakeNcclCommunicator(ctx, shared);
  } else if (comm == "nccl") {
    throw Error(Format("--comm nccl beside --device {}: {}; --comm host exchanges through the host",
                       device, why));
  } else {
    ranks.why_host = Format("tensors travel between the GPUs through the host: {}", why);
  }
  return ranks;
}

}  // namespace tessera::cli
