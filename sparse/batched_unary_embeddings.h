#ifndef TESSERA_SPARSE_BATCHED_UNARY_EMBEDDINGS_H_
#define TESSERA_SPARSE_BATCHED_UNARY_EMBEDDINGS_H_
// Tables of width 1, one set of T of them for each of N tasks: the wide part of a wide-and-deep
// model.
#include "runtime/autograd.h"

namespace tessera {

// y[n, b, t] = Σ weight[n, table_offsets[t] + id, 0] over the ids of bag (t, b), in order.
// weight [N, ΣE, 1] f32, differentiable (ids that come twice add up); table_offsets [T+1]; offsets
// [T·B+1], table-major; indices. All i32 or i64. Never waits. Throws Error for an id outside its
// table, naming table and bag (on a device it adds nothing instead), or shapes that don't fit.
Variable BatchedUnaryEmbeddings(Context& ctx, const Variable& weight, const Tensor& table_offsets,
                                const Tensor& offsets, const Tensor& indices);

}  // namespace tessera
#endif  // TESSERA_SPARSE_BATCHED_UNARY_EMBEDDINGS_H_
