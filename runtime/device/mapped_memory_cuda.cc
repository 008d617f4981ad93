// Memory mapped to reserved addresses, by CUDA's driver.
#include <cuda.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/division.h"
#include "runtime/device/cuda_check.h"
#include "runtime/device/mapped_memory.h"

namespace tessera::internal {
namespace {

struct Driver {
  decltype(&cuMemGetAllocationGranularity) granularity;
  decltype(&cuMemAddressReserve) reserve;
  decltype(&cuMemAddressFree) free_addresses;
  decltype(&cuMemCreate) create;
  decltype(&cuMemRelease) release;
  decltype(&cuMemMap) map;
  decltype(&cuMemUnmap) unmap;
  decltype(&cuMemSetAccess) set_access;
};

// Looks a function up in the driver, which is not linked. Returns false if it is not there.
template <typename Function>
bool Look(const char* name, Function* function) {
#if defined(CUDART_VERSION) && CUDART_VERSION < 12050
  return false;
#else
  constexpr unsigned kSince = 10020;  // the version that brought them
  void* found = nullptr;
  cudaDriverEntryPointQueryResult result = cudaDriverEntryPointSymbolNotFound;
  const cudaError_t error =
      cudaGetDriverEntryPointByVersion(name, &found, kSince, cudaEnableDefault, &result);
  (void)cudaGetLastError();
  *function = reinterpret_cast<Function>(found);
  return error == cudaSuccess && result == cudaDriverEntryPointSuccess && found != nullptr;
#endif
}

// nullptr where the driver lacks some of them.
const Driver* TheDriver() {
  static const Driver* const driver = []() -> const Driver* {
    auto* d = new Driver{};
    const bool all = Look("cuMemGetAllocationGranularity", &d->granularity) &&
                     Look("cuMemAddressReserve", &d->reserve) &&
                     Look("cuMemAddressFree", &d->free_addresses) &&
                     Look("cuMemCreate", &d->create) && Look("cuMemRelease", &d->release) &&
                     Look("cuMemMap", &d->map) && Look("cuMemUnmap", &d->unmap) &&
                     Look("cuMemSetAccess", &d->set_access);
    return all ? d : nullptr;
  }();
  return driver;
}

#define TESSERA_DRIVER_CHECK(...)                                                                \
  do {                                                                                           \
    const CUresult tessera_result_ = (__VA_ARGS__);                                              \
    TESSERA_CHECK(tessera_result_ == CUDA_SUCCESS, "CUDA's driver: {}: result {}", #__VA_ARGS__, \
                  static_cast<int>(tessera_result_));                                            \
  } while (false)

CUmemLocation Place(int device) {
  CUmemLocation location = {};
  location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  location.id = device;
  return location;
}

CUmemAllocationProp Kind(Device device) {
  CUmemAllocationProp kind = {};
  kind.type = CU_MEM_ALLOCATION_TYPE_PINNED;
  kind.location = Place(device.index);
  return kind;
}

class Mapped final : public MappedMemory, public std::enable_shared_from_this<Mapped> {
 public:
  Mapped(Device device, CUdeviceptr begin, int64_t reserved, int64_t unit)
      : device_(device), begin_(begin), reserved_(reserved), unit_(unit) {}
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;

  // Unlike memory of a pool, this is gone at once: what the device was given may still use it.
  ~Mapped() override {
    TESSERA_CUDA_LOG(cudaSetDevice(device_.index));
    TESSERA_CUDA_LOG(cudaDeviceSynchronize());
    if (mapped_ > 0) (void)TheDriver()->unmap(begin_, static_cast<size_t>(mapped_));
    (void)TheDriver()->free_addresses(begin_, static_cast<size_t>(reserved_));
  }

  void* Allocate(int64_t bytes, const Stream&) override {
    TESSERA_CHECK(bytes <= reserved_ && kept_ == nullptr,
                  "{} bytes of memory of {} that is reserved for one tensor", bytes, device_);
    kept_ = shared_from_this();
    return reinterpret_cast<void*>(begin_);
  }
  void Deallocate(void*, int64_t, const Stream&) override {
    const std::shared_ptr<Mapped> last = std::move(kept_);
  }
  AllocatorStats stats() const override {
    return {.live_bytes = mapped_, .peak_bytes = mapped_, .allocations = kept_ != nullptr};
  }

  void Extend(int64_t bytes) override {
    const int64_t missing = RoundUp(bytes, unit_) - mapped_;
    if (missing <= 0) return;
    TESSERA_CHECK_LE(missing, reserved_ - mapped_, "memory of {} beyond what was reserved",
                     device_);
    UseDevice(device_);
    const int64_t ahead = std::min(RoundUp(mapped_ / 8, unit_), reserved_ - mapped_);
    if (ahead > missing && Map(ahead)) return;
    if (Map(missing)) return;
    TrimPool();
    if (!Map(missing)) FailOutOfMemory(bytes, missing);
  }

 private:
  // Returns false if the device has not that much.
  bool Map(int64_t bytes) {
    const Driver& driver = *TheDriver();
    const CUmemAllocationProp kind = Kind(device_);
    const auto size = static_cast<size_t>(bytes);
    CUmemGenericAllocationHandle piece = 0;
    const CUresult result = driver.create(&piece, size, &kind, 0);
    if (result == CUDA_ERROR_OUT_OF_MEMORY) return false;
    TESSERA_DRIVER_CHECK(result);
    const CUdeviceptr at = begin_ + static_cast<CUdeviceptr>(mapped_);
    const CUresult mapped = driver.map(at, size, 0, piece, 0);
    (void)driver.release(piece);  // it lives as long as it is mapped
    TESSERA_DRIVER_CHECK(mapped);
    std::vector<CUmemAccessDesc> accesses;
    for (const int user : UsersOf(device_))
      accesses.push_back({Place(user), CU_MEM_ACCESS_FLAGS_PROT_READWRITE});
    const CUresult given = driver.set_access(at, size, accesses.data(), accesses.size());
    if (given != CUDA_SUCCESS) (void)driver.unmap(at, size);
    TESSERA_DRIVER_CHECK(given);
    mapped_ += bytes;
    return true;
  }

  // Gives what the stream-ordered pool keeps back to the device.
  void TrimPool() const {
    cudaMemPool_t pool = nullptr;
    TESSERA_CUDA_CHECK(cudaDeviceGetDefaultMemPool(&pool, device_.index));
    (void)cudaDeviceSynchronize();
    (void)cudaMemPoolTrimTo(pool, 0);
  }

  [[noreturn]] void FailOutOfMemory(int64_t bytes, int64_t missing) const {
    size_t available = 0, total = 0;
    TESSERA_CUDA_LOG(cudaMemGetInfo(&available, &total));
    TESSERA_FAIL(
        "out of memory on {}: {} bytes more for the first {} of {} that are reserved; the device "
        "has {} of {} bytes free",
        device_, missing, bytes, reserved_, available, total);
  }

  Device device_;
  CUdeviceptr begin_;
  int64_t reserved_, unit_, mapped_ = 0;
  std::shared_ptr<Mapped> kept_;  // by the tensor
};

}  // namespace

std::shared_ptr<MappedMemory> ReserveMemory(OnCuda, Device device, int64_t bytes) {
  UseDevice(device);
  const Driver* driver = TheDriver();
  if (driver == nullptr) return nullptr;
  const CUmemAllocationProp kind = Kind(device);
  size_t unit = 0;
  if (driver->granularity(&unit, &kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM) != CUDA_SUCCESS)
    return nullptr;
  const int64_t reserved = RoundUp(bytes, static_cast<int64_t>(unit));
  CUdeviceptr begin = 0;
  if (driver->reserve(&begin, static_cast<size_t>(reserved), 0, 0, 0) != CUDA_SUCCESS)
    return nullptr;
  return std::make_shared<Mapped>(device, begin, reserved, static_cast<int64_t>(unit));
}

}  // namespace tessera::internal
