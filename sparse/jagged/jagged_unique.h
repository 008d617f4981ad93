#ifndef TESSERA_SPARSE_JAGGED_JAGGED_UNIQUE_H_
#define TESSERA_SPARSE_JAGGED_JAGGED_UNIQUE_H_
// Input deduplication of jagged features (FBGEMM's jagged_unique_indices): each distinct id of a
// group of features once, as a jagged batch again.
#include "runtime/tensor.h"

namespace tessera {

struct JaggedUnique {
  Tensor lengths;  // [T·B]: a group's ids, spread over its bags as evenly as can be, larger first
  Tensor offsets;  // [T·B + 1]
  Tensor indices;  // [U]: group after group, ascending in each; dtype of the input's
  Tensor inverse;  // i64 [N]: ids[i] == indices[inverse[i]]
};

// Features [hash_size_offsets[g], hash_size_offsets[g+1]) are group g: those of one table, whose
// ids mean the same rows. hash_size_offsets [G+1], offsets [T·B + 1] (of the bags, feature-major)
// and indices [N] are i32 or i64; lengths and offsets come back in the dtype of `offsets`. Waits
// for a device. (FBGEMM also takes hash_size_cumsum, rows of the features' tables, to tell groups
// apart.) Throws Error for offsets that fall, or bags that are no multiple of the features.
JaggedUnique JaggedUniqueIndices(Context& ctx, const Tensor& hash_size_offsets,
                                 const Tensor& offsets, const Tensor& indices);

}  // namespace tessera
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_UNIQUE_H_
