#ifndef TESSERA_RUNTIME_DEVICE_SCRATCH_POOL_H_
#define TESSERA_RUNTIME_DEVICE_SCRATCH_POOL_H_
// Small blocks of host memory that serve again, so that a step that is like the one before takes
// nothing from the heap: for what a call makes anew each time, lists of pieces or storages of
// tensors. Sizes are powers of two from 64 bytes to 64 KiB. A thread keeps up to 32 blocks of each
// without a lock; what is more goes by sixteens to a common store (4 MiB a size), from which
// threads that have none left take: one thread may give back what another took.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace tessera {

// Sanitizers find a use after free, or past an end, only where memory really is taken and freed.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool kRecycles = false;
#else
inline constexpr bool kRecycles = true;
#endif

inline constexpr size_t kLargestScratch = 64 << 10;
inline constexpr size_t kScratchAlignment = 64;

// Returns at least `bytes` bytes, aligned to 64; larger blocks come from the heap each time. Throws
// std::bad_alloc when there is no memory.
void* TakeScratch(size_t bytes);
// `bytes` as given to TakeScratch.
void GiveScratch(void* block, size_t bytes) noexcept;

// For containers and std::allocate_shared.
template <typename T>
struct Recycling {
  static_assert(alignof(T) <= kScratchAlignment);
  using value_type = T;

  Recycling() = default;
  template <typename U>
  Recycling(const Recycling<U>&) {}  // NOLINT: as allocators are

  T* allocate(size_t count) { return static_cast<T*>(TakeScratch(count * sizeof(T))); }
  void deallocate(T* block, size_t count) noexcept { GiveScratch(block, count * sizeof(T)); }
  friend bool operator==(Recycling, Recycling) { return true; }
};

template <typename T>
using ScratchVector = std::vector<T, Recycling<T>>;

// std::make_shared in a block of the scratch pool.
template <typename T, typename... Args>
std::shared_ptr<T> MakeScratch(Args&&... args) {
  return std::allocate_shared<T>(Recycling<T>(), std::forward<Args>(args)...);
}

}  // namespace tessera
#endif  // TESSERA_RUNTIME_DEVICE_SCRATCH_POOL_H_
