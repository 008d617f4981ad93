#ifndef TESSERA_RUNTIME_VIRTUAL_MEMORY_H_
#define TESSERA_RUNTIME_VIRTUAL_MEMORY_H_
// Host memory that is only reserved: addresses for all of a tensor, and memory for what of it has
// been touched, a page at a time. So what grows up to a cap never moves and is never copied.
//
//   page   2 MiB where the kernel has huge pages for it, else the machine's own
//
// Nothing is counted against the machine's memory before it is touched (MAP_NORESERVE): tensors may
// together be larger than it is.
#include "runtime/tensor.h"

namespace tessera {

// Zeros, in host memory, in the first page of 2 MiB from that size on. Throws Error, naming the
// bytes, where the system gives no such addresses (vm.overcommit_memory is 2).
Tensor EmptyInVirtualMemory(const Shape& shape, DType dtype = DType::kF32);

// How much memory the first `used` of `reserved` bytes take at most, once touched.
int64_t TouchedBytes(int64_t used, int64_t reserved);

// Bytes of the pages under the tensor that lie in memory now. REQUIRES: host memory, contiguous.
int64_t ResidentBytes(const Tensor& tensor);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_VIRTUAL_MEMORY_H_
