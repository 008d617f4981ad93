#ifndef TESSERA_RUNTIME_VIRTUAL_MEMORY_H_
#define TESSERA_RUNTIME_VIRTUAL_MEMORY_H_
// Host memory that is only reserved: addresses for all of a tensor, and memory for what of it has
// been touched, a page at a time. So what grows up to a cap never moves and is never copied.
//
//   page   2 MiB where the kernel has huge pages for it, else the machine's own
//
// Nothing is counted against the machine's memory before it is touched (MAP_NORESERVE): tensors may
// together be larger than it is.
//
// A GPU has no pages that come by a touch: there, a ReservedTensor asks for memory as more of its
// rows are used.
#include <memory>
#include <utility>

#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera {

namespace internal {
class MappedMemory;
}  // namespace internal

// Zeros, in host memory, in the first page of 2 MiB from that size on. Throws Error, naming the
// bytes, where the system gives no such addresses (vm.overcommit_memory is 2).
Tensor EmptyInVirtualMemory(const Shape& shape, DType dtype = DType::kF32);

// How much memory the first `used` of `reserved` bytes take at most, once touched.
int64_t TouchedBytes(int64_t used, int64_t reserved);

// Bytes of the pages under the tensor that lie in memory now. REQUIRES: host memory, contiguous.
int64_t ResidentBytes(const Tensor& tensor);

// A tensor on ctx's device whose rows have addresses from the start, and memory once they are asked
// for. A handle.
class ReservedTensor {
 public:
  // From this size on, memory of a GPU comes as it is asked for, by an eighth more than there is
  // and 2 MiB at least; smaller tensors have it from the start, as all have where the driver maps
  // none (CUDA before 12.5).
  static constexpr int64_t kMappedFrom = int64_t{64} << 20;

  ReservedTensor(Context& ctx, const Shape& shape, DType dtype);
  // One whose memory is there.
  explicit ReservedTensor(Tensor whole) : whole_(std::move(whole)) {}

  // The first rows; what those hold that nobody asked for before is undefined. Tensors of earlier
  // calls stay as they are. Throws Error where a GPU has no memory for them.
  Tensor Rows(int64_t rows) const;
  const Tensor& whole() const { return whole_; }
  // Bytes of a GPU's memory that there are by now; on a CPU, of what is reserved.
  int64_t bytes_taken() const;

 private:
  Tensor whole_;
  std::shared_ptr<internal::MappedMemory> mapped_;  // where memory of a GPU comes later
};

}  // namespace tessera
#endif  // TESSERA_RUNTIME_VIRTUAL_MEMORY_H_
