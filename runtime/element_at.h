#ifndef TESSERA_RUNTIME_ELEMENT_AT_H_
#define TESSERA_RUNTIME_ELEMENT_AT_H_
// Addresses inside a tensor, for loops and kernels that take bytes.
#include <cstdint>

#include "runtime/tensor.h"

namespace tessera::internal {

// The address of element number `element` of a contiguous tensor of any type, or its end.
inline char* ElementAt(const Tensor& tensor, int64_t element) {
  return static_cast<char*>(tensor.raw_data()) + element * SizeOf(tensor.dtype());
}

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_ELEMENT_AT_H_
