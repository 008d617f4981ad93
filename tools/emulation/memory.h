#ifndef TESSERA_TOOLS_EMULATION_MEMORY_H_
#define TESSERA_TOOLS_EMULATION_MEMORY_H_
// Device memory is a range of addresses that only device code may touch; pinned host memory is
// ordinary memory that is remembered.
#include <cstdint>

namespace cuda_emulation {

// While one lives, device memory can be touched. Nests. The stream lock is held.
class DeviceAccess {
 public:
  DeviceAccess();
  ~DeviceAccess();
  DeviceAccess(const DeviceAccess&) = delete;
};

// Returns nullptr if there is none. New memory holds the byte 0xcd, to be recognised where nobody
// wrote.
void* AllocateDevice(int64_t bytes);
// Throws std::logic_error if something wrote past the end.
void FreeDevice(void* pointer);
bool IsDevice(const void* pointer);
// An allocation of device or pinned memory.
struct Allocation {
  const char* begin = nullptr;
  int64_t bytes = 0;
};
// The one that holds this address; one of no bytes if there is none.
Allocation AllocationAt(const void* pointer);
int64_t DeviceBytesInUse();
int64_t DeviceBytesLimit();

void* AllocatePinned(int64_t bytes);
void FreePinned(void* pointer);
bool IsPinned(const void* pointer);

}  // namespace cuda_emulation
#endif  // TESSERA_TOOLS_EMULATION_MEMORY_H_
