// Device memory over CUDA's stream-ordered pools, pinned host memory, and managed memory.
#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "runtime/device/allocator.h"
#include "runtime/device/cuda_check.h"
#include "runtime/device/device_properties.h"

namespace tessera::internal {
namespace {

class DevicePool final : public Allocator {
 public:
  explicit DevicePool(Device device) : device_(device) {
    UseDevice(device);
    TESSERA_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool_, device.index));
    // Keep what is returned: giving memory back to the driver at each wait would cost a
    // millisecond a step.
    uint64_t keep = UINT64_MAX;
    TESSERA_CUDA_CHECK(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep));
    LetPeersIn();
  }

  void* Allocate(int64_t bytes, const Stream& stream) override {
    TESSERA_CHECK_GE(bytes, 0, "allocation on {}", device_);
    UseDevice(device_);
    void* pointer = nullptr;
    const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
    cudaError_t error = cudaMallocAsync(&pointer, size, CudaStream(stream));
    if (error == cudaErrorMemoryAllocation) {  // perhaps in pieces that are too small
      (void)cudaGetLastError();
      (void)cudaDeviceSynchronize();
      (void)cudaMemPoolTrimTo(pool_, 0);
      error = cudaMallocAsync(&pointer, size, CudaStream(stream));
    }
    if (error == cudaErrorMemoryAllocation) FailOutOfMemory(bytes);
    TESSERA_CUDA_CHECK(error);
    const std::lock_guard lock(mutex_);
    ++stats_.allocations;
    stats_.live_bytes += bytes;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
    return pointer;
  }

  void Deallocate(void* pointer, int64_t bytes, const Stream& stream) override {
    TESSERA_CUDA_LOG(cudaSetDevice(device_.index));
    TESSERA_CUDA_LOG(cudaFreeAsync(pointer, CudaStream(stream)));
    const std::lock_guard lock(mutex_);
    stats_.live_bytes -= bytes;
  }

  AllocatorStats stats() const override {
    const std::lock_guard lock(mutex_);
    AllocatorStats stats = stats_;
    stats.cached_bytes = std::max<int64_t>(0, Reserved() - stats.live_bytes);
    return stats;
  }

 private:
  // A pool's memory is its device's alone until others are given access. NCCL, whose ranks may be
  // threads of this process, lets devices read each other's tensors.
  void LetPeersIn() {
    for (const int user : UsersOf(device_)) {
      if (user == device_.index) continue;
      const cudaMemAccessDesc access = {{cudaMemLocationTypeDevice, user},
                                        cudaMemAccessFlagsProtReadWrite};
      TESSERA_CUDA_CHECK(cudaMemPoolSetAccess(pool_, &access, 1));
    }
  }

  int64_t Reserved() const {
    uint64_t reserved = 0;
    TESSERA_CUDA_LOG(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved));
    return static_cast<int64_t>(reserved);
  }

  [[noreturn]] void FailOutOfMemory(int64_t bytes) {
    (void)cudaGetLastError();
    size_t available = 0, total = 0;
    TESSERA_CUDA_LOG(cudaMemGetInfo(&available, &total));
    const std::lock_guard lock(mutex_);
    TESSERA_FAIL(
        "out of memory on {}: asked for {} bytes; Tessera holds {} live bytes (at most {} so far) "
        "and {} in its pool; the device has {} of {} bytes free",
        device_, bytes, stats_.live_bytes, stats_.peak_bytes, Reserved(), available, total);
  }

  Device device_;
  cudaMemPool_t pool_;
  mutable std::mutex mutex_;
  AllocatorStats stats_;
};

// CUDA's calls may wait for a device, whose work may wait for another thread: the mutex is not held
// meanwhile.
class PinnedPool final : public Allocator {
 public:
  void* Allocate(int64_t bytes, const Stream&) override {
    const int64_t size = Rounded(bytes);
    void* pointer = FromCache(size);
    if (pointer == nullptr) TESSERA_CUDA_CHECK(cudaMallocHost(&pointer, static_cast<size_t>(size)));
    const std::lock_guard lock(mutex_);
    ++stats_.allocations;
    stats_.live_bytes += size;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
    return pointer;
  }

  void Deallocate(void* pointer, int64_t bytes, const Stream& stream) override {
    const int64_t size = Rounded(bytes);
    const Event last_use = Event::Record(stream);
    if (size > kLargestCached) {
      last_use.Sync();
      TESSERA_CUDA_LOG(cudaFreeHost(pointer));
    }
    const std::lock_guard lock(mutex_);
    stats_.live_bytes -= size;
    if (size > kLargestCached) return;
    stats_.cached_bytes += size;
    cache_[size].push_back({pointer, last_use});
  }

  AllocatorStats stats() const override {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  struct Block {
    void* pointer;
    Event free_from;
  };
  // Larger blocks (tables) go back to the system.
  static constexpr int64_t kLargestCached = 64 << 20;
  // Sizes are rounded up to powers of two: batches differ a little in size, and pinning memory is
  // slow.
  static int64_t Rounded(int64_t bytes) {
    if (bytes > kLargestCached) return bytes;
    return static_cast<int64_t>(
        std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(bytes, 4096))));
  }
  void* FromCache(int64_t size) {
    const std::lock_guard lock(mutex_);
    std::vector<Block>& blocks = cache_[size];
    const auto block = std::find_if(blocks.begin(), blocks.end(),
                                    [](const Block& b) { return b.free_from.done(); });
    if (block == blocks.end()) return nullptr;
    void* pointer = block->pointer;
    blocks.erase(block);
    stats_.cached_bytes -= size;
    return pointer;
  }

  mutable std::mutex mutex_;
  AllocatorStats stats_;
  std::map<int64_t, std::vector<Block>> cache_;
};

// Toolkits before 13 have the signature with a location under another name.
cudaError_t Advise(const void* pointer, size_t bytes, cudaMemoryAdvise advice,
                   cudaMemLocation location) {
#if defined(CUDART_VERSION) && CUDART_VERSION < 13000
  return cudaMemAdvise_v2(pointer, bytes, advice, location);
#else
  return cudaMemAdvise(pointer, bytes, advice, location);
#endif
}

class ManagedMemory final : public Allocator {
 public:
  explicit ManagedMemory(Device device) : device_(device) {}

  void* Allocate(int64_t bytes, const Stream&) override {
    TESSERA_CHECK_GE(bytes, 0, "managed allocation for {}", device_);
    UseDevice(device_);
    const auto size = static_cast<size_t>(std::max<int64_t>(bytes, 1));
    void* pointer = nullptr;
    TESSERA_CUDA_CHECK(cudaMallocManaged(&pointer, size, cudaMemAttachGlobal));
    // This is advice only: a system that cannot follow it moves pages instead.
    (void)Advise(pointer, size, cudaMemAdviseSetPreferredLocation, {cudaMemLocationTypeHost, 0});
    (void)Advise(pointer, size, cudaMemAdviseSetAccessedBy,
                 {cudaMemLocationTypeDevice, device_.index});
    (void)cudaGetLastError();
    const std::lock_guard lock(mutex_);
    ++stats_.allocations;
    stats_.live_bytes += bytes;
    stats_.peak_bytes = std::max(stats_.peak_bytes, stats_.live_bytes);
    return pointer;
  }

  void Deallocate(void* pointer, int64_t bytes, const Stream& stream) override {
    stream.Sync();
    TESSERA_CUDA_LOG(cudaFree(pointer));
    const std::lock_guard lock(mutex_);
    stats_.live_bytes -= bytes;
  }

  AllocatorStats stats() const override {
    const std::lock_guard lock(mutex_);
    return stats_;
  }

 private:
  Device device_;
  mutable std::mutex mutex_;
  AllocatorStats stats_;
};

// The T of a device, made on first use; it outlives every static tensor.
template <typename T>
T& OfDevice(Device device) {
  static std::mutex mutex;
  static auto& all = *new std::map<int, std::unique_ptr<T>>;
  const std::lock_guard lock(mutex);
  std::unique_ptr<T>& one = all[device.index];
  if (!one) one = std::make_unique<T>(device);
  return *one;
}

}  // namespace

std::vector<int> UsersOf(Device device) {
  std::vector<int> users = {device.index};
  const char* peers = std::getenv("TESSERA_PEER_ACCESS");
  if (peers != nullptr && std::string_view(peers) == "0") return users;
  int count = 0;
  TESSERA_CUDA_CHECK(cudaGetDeviceCount(&count));
  for (int peer = 0; peer < count; ++peer) {
    int can = 0;
    if (peer != device.index) TESSERA_CUDA_CHECK(cudaDeviceCanAccessPeer(&can, peer, device.index));
    if (can != 0) users.push_back(peer);
  }
  return users;
}

Allocator& DeviceAllocator(OnCuda, Device device) { return OfDevice<DevicePool>(device); }

Allocator& ManagedAllocator(OnCuda, Device device) { return OfDevice<ManagedMemory>(device); }

Allocator& PinnedAllocator(OnCuda) {
  static Allocator& pool = *new PinnedPool;
  return pool;
}

}  // namespace tessera::internal
