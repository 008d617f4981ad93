#include "runtime/device/allocator.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <new>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/division.h"
#include "runtime/device/dispatch.h"
#include "runtime/device/page_color.h"
#include "runtime/device/scratch_pool.h"

namespace tessera {
namespace {

constexpr int64_t kHugePage = 2 << 20;
// Smaller blocks are kept by their threads (scratch_pool.h).
constexpr int64_t kSmallestCached = kLargestScratch, kLargestCached = 64 << 20;
constexpr int64_t kMaxBytes = int64_t{1} << 56;  // of a block: no address is larger
constexpr int64_t kCacheBytes = kRecycles ? 256 << 20 : 0;
static_assert(kHostAlignment <= kScratchAlignment);

// Sizes are rounded up, by an eighth at most, so that blocks of nearly the same size can replace
// each other (two batches rarely have the same number of ids), and as aligned_alloc demands.
int64_t Rounded(int64_t bytes) {
  const auto eighth = static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(bytes)) / 8);
  const int64_t unit = bytes >= kHugePage         ? kHugePage
                       : bytes >= kSmallestCached ? (kRecycles ? eighth : 4096)
                                                  : kHostAlignment;
  return std::max<int64_t>(internal::RoundUp(bytes, unit), kHostAlignment);
}

// It is no Error, since no caller made a mistake: the same call may succeed later.
class OutOfHostMemory final : public std::bad_alloc {
 public:
  OutOfHostMemory(int64_t asked, int64_t live, int64_t cached) {
    std::snprintf(text_, sizeof text_,
                  "out of host memory: asked for %lld bytes, %lld bytes are live, %lld cached",
                  static_cast<long long>(asked), static_cast<long long>(live),
                  static_cast<long long>(cached));
  }
  const char* what() const noexcept override { return text_; }

 private:
  char text_[160];
};

class CachingHostAllocator final : public Allocator {
 public:
  void* Allocate(int64_t bytes, const Stream&) override {
    TESSERA_CHECK_GE(bytes, 0, "host allocation");
    TESSERA_CHECK_LE(bytes, kMaxBytes, "host allocation");
    const int64_t size = Rounded(bytes);
    const std::lock_guard lock(mutex_);
    void* pointer = FromCache(size);
    if (pointer == nullptr) pointer = Fresh(size);
    ++stats_.allocations;
    stats_.live_bytes += size;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
    return pointer;
  }

  void Deallocate(void* pointer, int64_t bytes, const Stream&) override {
    const int64_t size = Rounded(bytes);
    const std::lock_guard lock(mutex_);
    stats_.live_bytes -= size;
    if (size < kSmallestCached) return GiveScratch(pointer, static_cast<size_t>(size));
    if (size > kLargestCached || stats_.cached_bytes + size > kCacheBytes) {
      return Free(pointer, size);
    }
    try {
      cache_[size].push_back(pointer);
      stats_.cached_bytes += size;
    } catch (const std::bad_alloc&) {
      Free(pointer, size);
    }
  }

  AllocatorStats stats() const override {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  void* FromCache(int64_t size) {
    if (size < kSmallestCached) return TakeScratch(static_cast<size_t>(size));
    const auto found = cache_.find(size);
    if (found == cache_.end() || found->second.empty()) return nullptr;
    void* pointer = found->second.back();
    found->second.pop_back();
    stats_.cached_bytes -= size;
    return pointer;
  }

  void* Fresh(int64_t size) {
    const bool huge = size >= kHugePage;
    const int64_t alignment = huge ? kHugePage : kHostAlignment;
    void* block = std::aligned_alloc(static_cast<size_t>(alignment),
                                     static_cast<size_t>(huge ? size + kHugePage : size));
    if (block == nullptr) throw OutOfHostMemory(size, stats_.live_bytes, stats_.cached_bytes);
    if (!huge) return block;  // else one page more, part of which page colors take
    // This is advice only: without huge pages everything works, but slower.
    (void)madvise(block, static_cast<size_t>(size), MADV_HUGEPAGE);
    return static_cast<char*>(block) + internal::NextPageColor();
  }
  void Free(void* pointer, int64_t size) {
    const auto at = reinterpret_cast<uintptr_t>(pointer);
    std::free(size >= kHugePage ? static_cast<char*>(pointer) - at % kHugePage : pointer);
  }

  mutable std::mutex mutex_;
  AllocatorStats stats_;
  std::map<int64_t, std::vector<void*>> cache_;
};

}  // namespace

Allocator& HostAllocator() {
  static Allocator& allocator = *new CachingHostAllocator;  // outlives every static tensor
  return allocator;
}

Allocator& AllocatorOf(Device device) {
  Allocator* allocator = &HostAllocator();
  OnlyOnCuda(device, [&](auto on) { allocator = &internal::DeviceAllocator(on, device); });
  return *allocator;
}

Allocator& ManagedAllocator(Device device) {
  Allocator* allocator = &HostAllocator();
  OnlyOnCuda(device, [&](auto on) { allocator = &internal::ManagedAllocator(on, device); });
  return *allocator;
}

Allocator& PinnedAllocator() {
  Allocator* allocator = &HostAllocator();
  if constexpr (kWithCuda)
    OnlyOnCuda(Device::Cuda(), [&](auto on) { allocator = &internal::PinnedAllocator(on); });
  return *allocator;
}

}  // namespace tessera
