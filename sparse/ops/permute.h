#ifndef TESSERA_SPARSE_OPS_PERMUTE_H_
#define TESSERA_SPARSE_OPS_PERMUTE_H_
// Permutes the segments of jagged data; a segment may be repeated or left out. Values have any
// dtype; weights and embeddings are differentiable (f32). permute and lengths are i32 or i64. On a
// device the permuting ops wait once, for the number of values; the last two never wait.
#include "runtime/autograd.h"

namespace tessera {

struct PermutedSparseData {
  Tensor lengths;  // of the output segments, dtype as given
  Tensor values;
  Variable weights;  // undefined if none came
};

// lengths [T, B]: output row i is input row permute[i], bag by bag. Throws Error for an index
// outside [0, T), negative lengths, or values that are not their sum.
PermutedSparseData Permute2dSparseData(Context& ctx, const Tensor& permute, const Tensor& lengths,
                                       const Tensor& values, const Variable& weights = {});
// lengths [n]: the same for single segments.
PermutedSparseData Permute1dSparseData(Context& ctx, const Tensor& permute, const Tensor& lengths,
                                       const Tensor& values, const Variable& weights = {});

struct PermutedEmbeddings {
  Tensor lengths;
  Variable embeddings;
};
// Permutes the rows [N, D] of a sequence embedding; lengths [T, B].
PermutedEmbeddings PermuteSequenceEmbeddings(Context& ctx, const Tensor& permute,
                                             const Tensor& lengths, const Variable& embeddings);

// Expands a permutation of segments into one of their elements: y[output_offset[t] + i] =
// input_offset[permute[t]] + i. Offsets are complete; all three have the same dtype. Throws Error
// if output_size is not the last output offset.
Tensor ExpandIntoJaggedPermute(Context& ctx, const Tensor& permute, const Tensor& input_offset,
                               const Tensor& output_offset, int64_t output_size);

// y[permute[i]] = i. Throws Error if it is no permutation (the CPU; a device leaves out what is
// outside).
Tensor InvertPermute(Context& ctx, const Tensor& permute);

}  // namespace tessera
#endif  // TESSERA_SPARSE_OPS_PERMUTE_H_
