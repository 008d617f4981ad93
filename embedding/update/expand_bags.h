#ifndef TESSERA_EMBEDDING_UPDATE_EXPAND_BAGS_H_
#define TESSERA_EMBEDDING_UPDATE_EXPAND_BAGS_H_
// Copies the pooled rows of each feature's distinct bags to every example, by the inverse indices
// of a KJT, and sums gradients on the way back.
//
//   full[b, columns of f] = distinct_f[inverse[r_f, b]]        r_f: f's row of the inverse indices
//   grad distinct_f[i]    = Σ of grad full[b, columns of f] over the b with inverse[r_f, b] = i
//
// The first is a lookup of the distinct rows without pooling, the second its update: sums have the
// order, and bits, of an embedding's gradient.
#include <span>

#include "runtime/tensor.h"

namespace tessera::internal {

// One feature's distinct bags: a matrix [bags, dim] from element `at` on of a flat tensor.
struct DistinctBags {
  int64_t bags, dim, at;
  int64_t inverse_row;
};

// [B, Σdim], columns in the order of the features, of distinct's dtype. inverse: [*, B], i32 or
// i64; an index that names no bag gives zeros.
Tensor ExpandBags(Context& ctx, const Tensor& distinct, std::span<const DistinctBags> features,
                  const Tensor& inverse);
// grad [B, Σdim], f32 -> flat, as many elements as all features have, f32.
Tensor FoldBags(Context& ctx, const Tensor& grad, std::span<const DistinctBags> features,
                const Tensor& inverse);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_UPDATE_EXPAND_BAGS_H_
