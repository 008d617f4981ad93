#ifndef TESSERA_SPARSE_BATCHED_UNARY_EMBEDDINGS_IMPL_H_
#define TESSERA_SPARSE_BATCHED_UNARY_EMBEDDINGS_IMPL_H_
// The devices' halves of batched_unary_embeddings.h.
#include "runtime/device/device.h"
#include "runtime/tensor.h"
#include "sparse/ops/segments.h"

namespace tessera::internal {

// Ids as rows of a task's weights, and their bags. A row of −1 is left out.
struct UnaryRows {
  int64_t tables, batch, weights;  // weights: rows of all tables
  Tensor rows;                     // i64 [N]
  Segments bags;                   // [T·B], table-major
};

// `tables`: where each begins in the weights, cut to their number.
Tensor RowsOfIds(OnCpu, Context& ctx, const Segments& tables, const Segments& bags, int64_t batch,
                 const Tensor& ids);
Tensor RowsOfIds(OnCuda, Context& ctx, const Segments& tables, const Segments& bags, int64_t batch,
                 const Tensor& ids);
// y [tasks, B, T], w [tasks, weights]: sums over a bag's rows, in order.
void UnaryForward(OnCpu, Context& ctx, const UnaryRows& rows, const Tensor& w, const Tensor& y);
void UnaryForward(OnCuda, Context& ctx, const UnaryRows& rows, const Tensor& w, const Tensor& y);
// gw: sums over the ids of a row, in order.
void UnaryBackward(OnCpu, Context& ctx, const UnaryRows& rows, const Tensor& g, const Tensor& gw);
void UnaryBackward(OnCuda, Context& ctx, const UnaryRows& rows, const Tensor& g, const Tensor& gw);

}  // namespace tessera::internal
#endif  // TESSERA_SPARSE_BATCHED_UNARY_EMBEDDINGS_IMPL_H_
