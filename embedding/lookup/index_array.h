#ifndef TESSERA_EMBEDDING_LOOKUP_INDEX_ARRAY_H_
#define TESSERA_EMBEDDING_LOOKUP_INDEX_ARRAY_H_
// The numbers of a tensor, as lookups and updates read them.
#include "embedding/lookup/row_ops.h"
#include "runtime/tensor.h"

namespace tessera {

// REQUIRES: contiguous, i32 or i64; it outlives what is returned.
inline IndexArray ArrayOf(const Tensor& numbers) {
  return {numbers.raw_data(), numbers.dtype() == DType::kI64};
}

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_LOOKUP_INDEX_ARRAY_H_
