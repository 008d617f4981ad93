#ifndef TESSERA_SPARSE_REORDER_BATCHED_ADS_H_
#define TESSERA_SPARSE_REORDER_BATCHED_ADS_H_
// Reorders the candidates (ads) of several requests into one batch (FBGEMM's reorder_batched_ad_*):
// from request-major to feature-major, where each feature t has the candidates of all requests.
//
//   batch_offsets [R+1]   candidates of request r: batch_offsets[r] … batch_offsets[r+1], A in all
//   before                [r][t][candidate of r]      after   [t][candidate]
//
// With `broadcast` a request has one bag a feature, [r][t], which all its candidates get. Numbers
// are i32 or i64. Each call waits for a device. Throws Error for sizes that do not fit.
#include "runtime/autograd.h"

namespace tessera {

// lengths [T·A] (broadcast: [T·R]) -> [T·A]; with max_batch_size ≥ A (not with broadcast) ->
// [T·max_batch_size], padded with 0 after each feature's candidates.
Tensor ReorderBatchedAdLengths(Context& ctx, const Tensor& lengths, const Tensor& batch_offsets,
                               bool broadcast = false, int64_t max_batch_size = 0);

// Ids in the order of the reordered lengths. offsets: complete, of the lengths before.
Tensor ReorderBatchedAdIndices(Context& ctx, const Tensor& offsets, const Tensor& indices,
                               const Tensor& batch_offsets, bool broadcast = false);

// Rows [N, D] of sequences instead of ids, without broadcast; differentiable where they are f32.
Variable ReorderBatchedSequenceEmbeddings(Context& ctx, const Tensor& offsets,
                                          const Variable& embeddings, const Tensor& batch_offsets);

}  // namespace tessera
#endif  // TESSERA_SPARSE_REORDER_BATCHED_ADS_H_
