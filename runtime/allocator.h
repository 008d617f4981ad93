#ifndef TESSERA_RUNTIME_ALLOCATOR_H_
#define TESSERA_RUNTIME_ALLOCATOR_H_
// Where tensors get their memory.
#include <cstdint>

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
  // At least `bytes` bytes, not initialised. Throws Error when there is no memory, naming the
  // amount and what is held.
  virtual void* Allocate(int64_t bytes) = 0;
  // `bytes` as given to Allocate.
  virtual void Deallocate(void* pointer, int64_t bytes) = 0;
  virtual AllocatorStats stats() const = 0;
};

inline constexpr int64_t kHostAlignment = 64;

// Host memory, aligned to 64 bytes. Blocks of 2 MiB and more lie on huge pages where the kernel
// gives them: 1.15 to 1.6 times faster random lookups. Blocks of 64 KiB to 64 MiB are kept for
// reuse (256 MiB at most), since a fresh block costs a page fault every 4 KiB: 2 of 38 ms in a
// large pooled lookup.
Allocator& HostAllocator();

}  // namespace tessera
#endif  // TESSERA_RUNTIME_ALLOCATOR_H_
