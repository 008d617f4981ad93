#include "tools/emulation/memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <mutex>
#include <new>
#include <stdexcept>
#include <string>

#include "tools/emulation/emulation.h"
#include "tools/emulation/mapped.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

namespace cuda_emulation {
namespace {

constexpr int64_t kArenaBytes = int64_t{64} << 30, kAlign = 256, kRedZone = 256;
constexpr unsigned char kFreed = 0xcd, kGuard = 0xfd;

int64_t RoundUp(int64_t n, int64_t unit) { return (n + unit - 1) / unit * unit; }

// Allocates by first fit from one range of addresses; each block ends in a red zone.
class Arena {
 public:
  Arena() {
    void* base =
        mmap(nullptr, kArenaBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    // Few large pages are quick to protect.
    madvise(base, kArenaBytes, MADV_HUGEPAGE);
    base_ = static_cast<char*>(base);
    free_[0] = kArenaBytes;
  }

  void Open() { mprotect(base_, static_cast<size_t>(top_), PROT_READ | PROT_WRITE); }
  void Close() { mprotect(base_, static_cast<size_t>(top_), PROT_NONE); }

  void* Allocate(int64_t bytes) {
    const int64_t size = RoundUp(bytes, kAlign) + kRedZone;
    if (DeviceBytesInUse() + bytes > limit) return nullptr;
    const auto place =
        std::find_if(free_.begin(), free_.end(), [&](const auto& f) { return f.second >= size; });
    if (place == free_.end()) return nullptr;
    const auto [offset, length] = *place;
    free_.erase(place);
    if (length > size) free_[offset + size] = length - size;
    used_[offset] = {bytes, size};
    in_use_ += bytes;
    if (offset + size > top_) {
      top_ = RoundUp(offset + size, int64_t{2} << 20);
      Open();
    }
    char* p = base_ + offset;
    ASAN_UNPOISON_MEMORY_REGION(p, static_cast<size_t>(size));
    FillFresh(p, bytes);
    std::memset(p + bytes, kGuard, static_cast<size_t>(size - bytes));
    ASAN_POISON_MEMORY_REGION(p + bytes, static_cast<size_t>(size - bytes));
    return p;
  }

  void Free(void* pointer) {
    const auto found = used_.find(static_cast<char*>(pointer) - base_);
    if (found == used_.end()) throw std::logic_error("emulated device: free of unknown memory");
    const auto [bytes, size] = found->second;
    char* p = static_cast<char*>(pointer);
    ASAN_UNPOISON_MEMORY_REGION(p, static_cast<size_t>(size));
    const bool intact = std::all_of(p + bytes, p + size,
                                    [](char c) { return static_cast<unsigned char>(c) == kGuard; });
    std::memset(p, kFreed, static_cast<size_t>(bytes));
    ASAN_POISON_MEMORY_REGION(p, static_cast<size_t>(size));
    int64_t offset = found->first, length = size;
    used_.erase(found);
    in_use_ -= bytes;
    MergeFree(offset, length);
    if (!intact)
      throw std::logic_error("emulated device: a kernel wrote past the end of an allocation of " +
                             std::to_string(bytes) + " bytes");
  }

  Allocation At(const void* p) const {
    const int64_t offset = static_cast<const char*>(p) - base_;
    const auto after = used_.upper_bound(offset);
    if (after == used_.begin()) return {};
    const auto& [begin, block] = *std::prev(after);
    return offset < begin + block.bytes ? Allocation{base_ + begin, block.bytes} : Allocation{};
  }

  bool Contains(const void* p) const { return p >= base_ && p < base_ + kArenaBytes; }
  int64_t in_use() const { return in_use_; }
  int64_t limit = int64_t{4} << 30;

 private:
  struct Used {
    int64_t bytes, size;
  };
  void MergeFree(int64_t offset, int64_t length) {
    const auto next = free_.find(offset + length);
    if (next != free_.end()) {
      length += next->second;
      free_.erase(next);
    }
    const auto after = free_.lower_bound(offset);
    if (after != free_.begin()) {
      const auto before = std::prev(after);
      if (before->first + before->second == offset) {
        before->second += length;
        return;
      }
    }
    free_[offset] = length;
  }

  char* base_;
  int64_t top_ = 0, in_use_ = 0;
  std::map<int64_t, int64_t> free_;
  std::map<int64_t, Used> used_;
};

Arena& TheArena() {
  static Arena& arena = *new Arena;
  return arena;
}
int access_depth = 0;

std::mutex pinned_mutex;
std::map<const char*, int64_t>& Pinned() {
  static auto& pinned = *new std::map<const char*, int64_t>;
  return pinned;
}
Allocation PinnedAt(const void* pointer) {
  const char* p = static_cast<const char*>(pointer);
  const std::lock_guard lock(pinned_mutex);
  const auto after = Pinned().upper_bound(p);
  if (after == Pinned().begin()) return {};
  const auto& [begin, bytes] = *std::prev(after);
  return p < begin + bytes ? Allocation{begin, bytes} : Allocation{};
}

}  // namespace

DeviceAccess::DeviceAccess() {
  if (access_depth++ != 0) return;
  TheArena().Open();
  OpenMapped();
}
DeviceAccess::~DeviceAccess() {
  if (--access_depth != 0) return;
  TheArena().Close();
  CloseMapped();
}

void FillFresh(char* p, int64_t bytes) {
  static size_t fills = 0;
  const uint64_t pattern = kFreshPatterns[fills++ % std::size(kFreshPatterns)];
  for (int64_t i = 0; i < bytes; i += static_cast<int64_t>(sizeof pattern))
    std::memcpy(p + i, &pattern, static_cast<size_t>(std::min<int64_t>(8, bytes - i)));
}

void* AllocateDevice(int64_t bytes) {
  const DeviceAccess access;
  return TheArena().Allocate(bytes);
}
void FreeDevice(void* pointer) {
  const DeviceAccess access;
  TheArena().Free(pointer);
}
bool IsDevice(const void* pointer) { return TheArena().Contains(pointer) || IsReserved(pointer); }
int64_t DeviceBytesInUse() { return TheArena().in_use() + MappedBytes(); }
int64_t DeviceBytesLimit() { return TheArena().limit; }
void SetMemoryLimit(int64_t bytes) { TheArena().limit = bytes; }

void* AllocatePinned(int64_t bytes) {
  char* p = static_cast<char*>(std::malloc(static_cast<size_t>(std::max<int64_t>(bytes, 1))));
  const std::lock_guard lock(pinned_mutex);
  Pinned()[p] = bytes;
  return p;
}
void FreePinned(void* pointer) {
  const std::lock_guard lock(pinned_mutex);
  Pinned().erase(static_cast<const char*>(pointer));
  std::free(pointer);
}
bool IsPinned(const void* pointer) { return PinnedAt(pointer).bytes > 0; }

Allocation AllocationAt(const void* pointer) {
  if (TheArena().Contains(pointer)) return TheArena().At(pointer);
  return IsReserved(pointer) ? MappedAt(pointer) : PinnedAt(pointer);
}

}  // namespace cuda_emulation
