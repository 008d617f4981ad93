#ifndef TESSERA_SPARSE_OPS_INDEX_SELECT_H_
#define TESSERA_SPARSE_OPS_INDEX_SELECT_H_
// Rows chosen by their numbers, as FBGEMM's index_select_dim0 and its forms for many tensors.
// indices are i32 or i64; x has any dtype, and is differentiable where it is f32: the gradient of a
// row is the sum over its choices, in their order. On a device an index outside selects nothing
// that is defined; the CPU refuses it.
#include <vector>

#include "runtime/autograd.h"

namespace tessera {

// x [R, …], indices [n] -> [n, …].
Variable IndexSelectDim0(Context& ctx, const Variable& x, const Tensor& indices);

// Each input by its own indices. REQUIRES: as many indices as inputs.
std::vector<Variable> GroupIndexSelectDim0(Context& ctx, const std::vector<Variable>& inputs,
                                           const std::vector<Tensor>& indices);

struct BatchIndexSelectArgs {
  Variable inputs;  // f32 [Σ rows_i·columns_i]: matrices, one after another
  Tensor indices;   // [Σ num_indices_i]
  std::vector<int64_t> num_indices, rows, columns;  // of each matrix
  // true: row j of the result has the j-th chosen row of every matrix, side by side. REQUIRES: the
  // same number of indices for all.
  bool permute_output_dim_0_1 = false;
};
// [Σ num_indices_i·columns_i]: the chosen rows of the first matrix, then those of the second, …
// Throws Error for sizes that do not fit.
Variable BatchIndexSelectDim0(Context& ctx, const BatchIndexSelectArgs& args);

}  // namespace tessera
#endif  // TESSERA_SPARSE_OPS_INDEX_SELECT_H_
