#ifndef TESSERA_RUNTIME_DEVICE_MAPPED_MEMORY_H_
#define TESSERA_RUNTIME_DEVICE_MAPPED_MEMORY_H_
// A GPU's memory at addresses that are reserved for all of it and never move; memory is taken as it
// is asked for (cuMemAddressReserve, cuMemCreate and cuMemMap of CUDA's driver interface).
#include <cstdint>
#include <memory>

#include "runtime/device/allocator.h"

namespace tessera::internal {

// Gives the memory of one tensor, which keeps it. Deallocate waits for the device.
class MappedMemory : public Allocator {
 public:
  // Makes the first `bytes` usable by this device and its peers; what new ones hold is undefined.
  // Takes an eighth more than it has at least, so that there are few calls. Throws Error, naming
  // the bytes, where the device has no more memory.
  virtual void Extend(int64_t bytes) = 0;
};

// Reserves addresses for `bytes`, above 0, and takes no memory yet. Returns nullptr where the
// driver has none, or this build's CUDA (before 12.5) cannot ask it.
std::shared_ptr<MappedMemory> ReserveMemory(OnCuda, Device device, int64_t bytes);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_DEVICE_MAPPED_MEMORY_H_
