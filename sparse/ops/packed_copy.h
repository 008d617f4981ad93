#ifndef TESSERA_SPARSE_OPS_PACKED_COPY_H_
#define TESSERA_SPARSE_OPS_PACKED_COPY_H_
// Several tensors between host and device as one.
//
//   host tensors  a      b   c        pinned block  a·· b·· c··        one copy        device block
//
// Parts begin at multiples of 256 bytes, as blocks of a device do.
#include <vector>

#include "runtime/tensor.h"

namespace tessera {

// The tensors in the memory of `device`: views of one block. To a GPU nobody waits; to the host,
// once. Undefined ones stay undefined. REQUIRES: ctx is on the GPU in question; all lie in host
// memory, or all on that GPU.
std::vector<Tensor> MovedTogether(Context& ctx, const std::vector<Tensor>& tensors, Device device);

}  // namespace tessera
#endif  // TESSERA_SPARSE_OPS_PACKED_COPY_H_
