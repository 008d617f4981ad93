// The functions of CUDA's driver that the library asks the runtime for by name.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstring>

#include "tools/emulation/mapped.h"
#include "tools/emulation/stream.h"

using namespace cuda_emulation;

namespace {

char* Address(CUdeviceptr pointer) { return reinterpret_cast<char*>(pointer); }

CUresult Granularity(size_t* granularity, const CUmemAllocationProp*,
                     CUmemAllocationGranularity_flags) {
  *granularity = static_cast<size_t>(kMappedGranularity);
  return CUDA_SUCCESS;
}
CUresult AddressReserve(CUdeviceptr* pointer, size_t bytes, size_t, CUdeviceptr,
                        unsigned long long) {
  const std::lock_guard lock(Lock());
  char* begin = ReserveAddresses(static_cast<int64_t>(bytes));
  *pointer = reinterpret_cast<CUdeviceptr>(begin);
  return begin == nullptr ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult AddressFree(CUdeviceptr pointer, size_t bytes) {
  const std::lock_guard lock(Lock());
  FreeAddresses(Address(pointer), static_cast<int64_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult Create(CUmemGenericAllocationHandle* handle, size_t bytes, const CUmemAllocationProp*,
                unsigned long long) {
  const std::lock_guard lock(Lock());
  *handle = CreatePiece(static_cast<int64_t>(bytes));
  return *handle == 0 ? CUDA_ERROR_OUT_OF_MEMORY : CUDA_SUCCESS;
}
CUresult Release(CUmemGenericAllocationHandle handle) {
  const std::lock_guard lock(Lock());
  ReleasePiece(handle);
  return CUDA_SUCCESS;
}
CUresult Map(CUdeviceptr pointer, size_t bytes, size_t, CUmemGenericAllocationHandle handle,
             unsigned long long) {
  const std::lock_guard lock(Lock());
  MapPiece(Address(pointer), static_cast<int64_t>(bytes), handle);
  return CUDA_SUCCESS;
}
CUresult Unmap(CUdeviceptr pointer, size_t bytes) {
  const std::lock_guard lock(Lock());
  UnmapPieces(Address(pointer), static_cast<int64_t>(bytes));
  return CUDA_SUCCESS;
}
CUresult SetAccess(CUdeviceptr pointer, size_t bytes, const CUmemAccessDesc*, size_t) {
  const std::lock_guard lock(Lock());
  GiveAccess(Address(pointer), static_cast<int64_t>(bytes));
  return CUDA_SUCCESS;
}

struct Entry {
  const char* name;
  void* function;
};

}  // namespace

cudaError_t cudaGetDriverEntryPointByVersion(const char* symbol, void** function, unsigned,
                                             unsigned long long,
                                             cudaDriverEntryPointQueryResult* result) {
  const Entry entries[] = {
      {"cuMemGetAllocationGranularity", reinterpret_cast<void*>(&Granularity)},
      {"cuMemAddressReserve", reinterpret_cast<void*>(&AddressReserve)},
      {"cuMemAddressFree", reinterpret_cast<void*>(&AddressFree)},
      {"cuMemCreate", reinterpret_cast<void*>(&Create)},
      {"cuMemRelease", reinterpret_cast<void*>(&Release)},
      {"cuMemMap", reinterpret_cast<void*>(&Map)},
      {"cuMemUnmap", reinterpret_cast<void*>(&Unmap)},
      {"cuMemSetAccess", reinterpret_cast<void*>(&SetAccess)},
  };
  *function = nullptr;
  for (const Entry& entry : entries)
    if (std::strcmp(entry.name, symbol) == 0) *function = entry.function;
  if (result != nullptr)
    *result = *function ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
  return cudaSuccess;
}
