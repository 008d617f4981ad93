#include "runtime/virtual_memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/base/division.h"
#include "runtime/device/dispatch.h"
#include "runtime/device/mapped_memory.h"
#include "runtime/device/page_color.h"

namespace tessera {
namespace {

using internal::RoundUp;

constexpr int64_t kHugePage = 2 << 20;

int64_t PageBytes() { return sysconf(_SC_PAGESIZE); }

// Addresses that are unmapped with the last handle.
class Mapping {
 public:
  explicit Mapping(int64_t bytes) : bytes_(static_cast<size_t>(bytes)) {
    void* data = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    TESSERA_CHECK(data != MAP_FAILED,
                  "no addresses for {} bytes that are reserved: {} (a limit on addresses, ulimit "
                  "-v, or vm.overcommit_memory = 2?)",
                  bytes, std::strerror(errno));
    data_ = static_cast<char*>(data);
  }
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;
  ~Mapping() { (void)munmap(data_, bytes_); }

  char* data() const { return data_; }

 private:
  char* data_ = nullptr;
  size_t bytes_;
};

}  // namespace

Tensor EmptyInVirtualMemory(const Shape& shape, DType dtype) {
  const int64_t bytes = std::max<int64_t>(shape.numel() * SizeOf(dtype), 1);
  const bool huge = bytes >= kHugePage;
  const auto mapping =
      std::make_shared<Mapping>(huge ? bytes + kHugePage + internal::kPageColors : bytes);
  char* data = mapping->data();
  if (huge) {
    data += RoundUp(reinterpret_cast<intptr_t>(data), kHugePage) - reinterpret_cast<intptr_t>(data);
    // Advice only: without huge pages everything works, slower.
    (void)madvise(data, static_cast<size_t>(bytes + internal::kPageColors), MADV_HUGEPAGE);
    data += internal::NextPageColor();
  }
  return Tensor::Borrow(data, shape, dtype, mapping);
}

int64_t TouchedBytes(int64_t used, int64_t reserved) {
  if (used == 0) return 0;
  const bool huge = reserved >= kHugePage;
  const int64_t before = huge ? internal::kPageColors : 0;
  return std::min(RoundUp(before + used, huge ? kHugePage : PageBytes()),
                  RoundUp(before + reserved, PageBytes()));
}

int64_t ResidentBytes(const Tensor& tensor) {
  TESSERA_CHECK(tensor.device() == Device::Cpu() && tensor.is_contiguous(),
                "resident bytes of a tensor {} on {}", tensor.shape(), tensor.device());
  const int64_t page = PageBytes();
  const auto begin = reinterpret_cast<intptr_t>(tensor.raw_data()) / page * page;
  const auto end = reinterpret_cast<intptr_t>(tensor.raw_data()) + tensor.nbytes();
  std::vector<unsigned char> in_memory(1 << 16);
  int64_t pages = 0;
  for (intptr_t at = begin; at < end;) {
    const auto bytes = std::min<intptr_t>(end - at, page * std::ssize(in_memory));
    TESSERA_CHECK(
        mincore(reinterpret_cast<void*>(at), static_cast<size_t>(bytes), in_memory.data()) == 0,
        "mincore of {} bytes: {}", bytes, std::strerror(errno));
    for (intptr_t p = 0; p * page < bytes; ++p) pages += in_memory[static_cast<size_t>(p)] & 1;
    at += bytes;
  }
  return pages * page;
}

ReservedTensor::ReservedTensor(Context& ctx, const Shape& shape, DType dtype) {
  const int64_t bytes = shape.numel() * SizeOf(dtype);
  OnlyOnCuda(ctx.device(), [&](auto on) {
    if (bytes >= kMappedFrom) mapped_ = internal::ReserveMemory(on, ctx.device(), bytes);
  });
  if (mapped_ != nullptr)
    whole_ = Tensor::EmptyIn(ctx, *mapped_, shape, dtype);
  else
    whole_ = ctx.device() == Device::Cpu() ? EmptyInVirtualMemory(shape, dtype)
                                           : Tensor::Empty(ctx, shape, dtype);
}

int64_t ReservedTensor::bytes_taken() const {
  return mapped_ != nullptr ? mapped_->stats().live_bytes : whole_.nbytes();
}

Tensor ReservedTensor::Rows(int64_t rows) const {
  if (mapped_ != nullptr && rows > 0) mapped_->Extend(whole_.nbytes() / whole_.dim(0) * rows);
  return whole_.Rows(0, rows);
}

}  // namespace tessera
