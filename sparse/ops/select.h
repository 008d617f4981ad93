#ifndef TESSERA_SPARSE_OPS_SELECT_H_
#define TESSERA_SPARSE_OPS_SELECT_H_
// Parts of jagged data: chosen bags, masked values, cut bags. lengths and indices are i32 or i64;
// values have any dtype, and are differentiable where they are f32. On a device each op waits, for
// the number of values that are left.
#include "runtime/autograd.h"

namespace tessera {

struct Jagged {
  Variable values;
  Tensor lengths;
};

// Segments `indices` of values [N, …], in that order; segments may repeat (gradients are summed).
// Throws Error for an index outside, or lengths that don't sum to N.
Jagged JaggedIndexSelect(Context& ctx, const Variable& values, const Tensor& lengths,
                         const Tensor& indices);

struct KeyedJaggedSelection {
  Variable values;
  Tensor lengths;
  Variable weights;  // undefined if none came
};
// For each of K keys, the bags `indices` of its batch_size bags; lengths [K·batch_size], key-major.
// offsets are those of lengths, or undefined.
KeyedJaggedSelection KeyedJaggedIndexSelectDim1(Context& ctx, const Variable& values,
                                                const Tensor& lengths, const Tensor& offsets,
                                                const Tensor& indices, int64_t batch_size,
                                                const Variable& weights = {});

// The values [N] where mask (bool [N]) is true, and how many are left of each segment.
Jagged MaskedSelectJagged1d(Context& ctx, const Variable& values, const Tensor& lengths,
                            const Tensor& mask);

// The first max_truncated_length values of each segment, joined.
Variable Jagged1dToTruncatedValues(Context& ctx, const Variable& values, const Tensor& lengths,
                                   int64_t max_truncated_length);

// The window of each segment that begins at its row start[s] (i32 or i64) and has at most
// slice_length rows; a segment that ends before start[s] gives none. On the CPU throws Error for a
// negative start.
Jagged JaggedSlice(Context& ctx, const Variable& values, const Tensor& lengths, const Tensor& start,
                   int64_t slice_length);

// The transpose of JaggedIndexSelect: segment i of values (f32, [N, …]) is added, row by row and in
// the order of i, to segment indices[i] of the result, which is 0 before and whose segments have
// the lengths `output_lengths`. Throws Error for an index outside, and where segment i has not the
// length of the one that it is added to; waits for a device.
Variable JaggedIndexAdd2d(Context& ctx, const Variable& values, const Tensor& indices,
                          const Tensor& lengths, const Tensor& output_lengths);

}  // namespace tessera
#endif  // TESSERA_SPARSE_OPS_SELECT_H_
