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

// New memory holds one of these, in turn: numbers that are recognised where nobody wrote, and
// numbers that a kernel takes for its own, as a GPU's memory holds them that was in use before: 1
// (i64) and 1.0 (f32).
inline constexpr uint64_t kFreshPatterns[] = {0xcdcdcdcdcdcdcdcd, 1, 0x3f8000003f800000};

// Fills memory with one of them, another each time.
void FillFresh(char* p, int64_t bytes);

// Returns nullptr if there is none.
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
