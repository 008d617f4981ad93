#include <dlfcn.h>

#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "comm/nccl/nccl_communicator_impl.h"
#include "comm/nccl/nccl_functions.h"
#include "runtime/base/check.h"
#include "runtime/device/cuda_check.h"

namespace tessera::internal {
namespace {

#if defined(TESSERA_CUDA_EMULATION)
constexpr bool kMayBeReal = false;  // NCCL knows nothing of emulated memory
#else
constexpr bool kMayBeReal = true;
#endif

std::vector<std::string> Candidates() {
  const char* named = std::getenv("TESSERA_NCCL_LIBRARY");
  if (named != nullptr && *named != '\0') return {named};
  return kMayBeReal ? std::vector<std::string>{"libnccl.so.2", "libnccl.so"}
                    : std::vector<std::string>{};
}

template <typename Fn>
void Resolve(void* library, const std::string& path, const char* name, Fn& fn) {
  fn = reinterpret_cast<Fn>(dlsym(library, name));
  TESSERA_CHECK(fn != nullptr, "NCCL: {} has no function {}; expected NCCL 2.18 or later", path,
                name);
}

NcclFunctions FunctionsOf(void* library, const std::string& path) {
  NcclFunctions f = {};
  Resolve(library, path, "ncclGetVersion", f.get_version);
  Resolve(library, path, "ncclGetErrorString", f.get_error_string);
  Resolve(library, path, "ncclGetLastError", f.get_last_error);
  Resolve(library, path, "ncclGetUniqueId", f.get_unique_id);
  Resolve(library, path, "ncclCommInitRank", f.comm_init_rank);
  Resolve(library, path, "ncclCommSplit", f.comm_split);
  Resolve(library, path, "ncclCommDestroy", f.comm_destroy);
  Resolve(library, path, "ncclCommAbort", f.comm_abort);
  Resolve(library, path, "ncclCommGetAsyncError", f.comm_get_async_error);
  Resolve(library, path, "ncclGroupStart", f.group_start);
  Resolve(library, path, "ncclGroupEnd", f.group_end);
  Resolve(library, path, "ncclSend", f.send);
  Resolve(library, path, "ncclRecv", f.recv);
  Resolve(library, path, "ncclAllReduce", f.all_reduce);
  Resolve(library, path, "ncclReduceScatter", f.reduce_scatter);
  Resolve(library, path, "ncclAllGather", f.all_gather);
  Resolve(library, path, "ncclBroadcast", f.broadcast);
  return f;
}

NcclFunctions Load() {
  std::string tried;
  for (const std::string& path : Candidates()) {
    if (void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL))
      return FunctionsOf(library, path);
    tried += Format("; {}", dlerror());
  }
  TESSERA_FAIL(
      "NCCL was not found{}. Install it (Debian and Ubuntu, from NVIDIA's repository: apt-get "
      "install libnccl2), or name the library in TESSERA_NCCL_LIBRARY",
      tried);
}

}  // namespace

int NcclType(DType dtype) {
  switch (dtype) {
    case DType::kI32:
      return 2;
    case DType::kI64:
      return 4;
    case DType::kF32:
      return 7;
    case DType::kF64:
      return 8;
    default:
      TESSERA_FAIL("NCCL: no sums of {}", dtype);
  }
}

int NcclOp(ReduceOp op) {
  switch (op) {
    case ReduceOp::kSum:
      return 0;
    case ReduceOp::kMax:
      return 2;
    case ReduceOp::kMin:
      return 3;
  }
  TESSERA_FAIL("NCCL: unknown reduction {}", static_cast<int>(op));
}

const NcclFunctions& Nccl() {
  static std::mutex mutex;
  static std::optional<NcclFunctions> functions;
  const std::lock_guard lock(mutex);
  if (!functions) functions = Load();
  return *functions;
}

std::string WhyNoNccl(OnCuda) {
  try {
    (void)Nccl();
    return {};
  } catch (const Error& error) {
    return error.what();
  }
}

}  // namespace tessera::internal
