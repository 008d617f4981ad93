#ifndef TESSERA_RUNTIME_DEVICE_ALLOCATOR_H_
#define TESSERA_RUNTIME_DEVICE_ALLOCATOR_H_
// Allocators give tensors their memory: of the host, pinned on the host, of a device.
#include <cstdint>

#include "runtime/device/device.h"
#include "runtime/device/stream.h"

namespace tessera {

struct AllocatorStats {
  int64_t live_bytes = 0;    // handed out and not yet returned
  int64_t peak_bytes = 0;    // the largest live_bytes so far
  int64_t cached_bytes = 0;  // returned, kept for the next caller
  int64_t allocations = 0;   // calls of Allocate
};

// Thread safe.
class Allocator {
 public:
  virtual ~Allocator() = default;
  // Returns at least `bytes` bytes, not initialised, for use by `stream` from now on (and by others
  // after an event). Throws Error when there is no memory, naming the amount and what is held.
  virtual void* Allocate(int64_t bytes, const Stream& stream = {}) = 0;
  // `bytes` and `stream` as given to Allocate: what the stream was given so far may still use the
  // memory.
  virtual void Deallocate(void* pointer, int64_t bytes, const Stream& stream = {}) = 0;
  virtual AllocatorStats stats() const = 0;
};

inline constexpr int64_t kHostAlignment = 64;

// Host memory, aligned to 64 bytes. Blocks of 2 MiB and more lie on huge pages where the kernel
// gives them: 1.15 to 1.6 times faster random lookups. Blocks of 64 KiB to 64 MiB are kept for
// reuse (256 MiB at most), since a fresh block costs a page fault every 4 KiB: 2 of 38 ms in a
// large pooled lookup.
Allocator& HostAllocator();

// Memory of a device: for the CPU the above; for a GPU that of CUDA's stream-ordered pool, aligned
// to 256 bytes, which keeps what was returned.
Allocator& AllocatorOf(Device device);

// Host memory that a GPU copies from and to while the host goes on, and that kernels can use. A
// block is used again when the stream it was returned on has passed that place. In a build without
// CUDA, HostAllocator().
Allocator& PinnedAllocator();

// CUDA's unified memory: the host and kernels of any GPU use it at the same address. Its pages stay
// on the host, and `device` reaches them over the bus without moving them. Giving it back waits for
// the stream. For the CPU, HostAllocator().
Allocator& ManagedAllocator(Device device);

namespace internal {
Allocator& DeviceAllocator(OnCuda, Device device);
Allocator& PinnedAllocator(OnCuda);
Allocator& ManagedAllocator(OnCuda, Device device);
}  // namespace internal

}  // namespace tessera
#endif  // TESSERA_RUNTIME_DEVICE_ALLOCATOR_H_
