#ifndef TESSERA_SPARSE_JAGGED_JAGGED_ELEMENTWISE_H_
#define TESSERA_SPARSE_JAGGED_JAGGED_ELEMENTWISE_H_
// Adds or multiplies a jagged x [N, D…] with offsets (one tensor a level) and dense operands [B,
// L_1, …, L_k, D…], element by element. Operands are f32; all are differentiable. Where a bag is
// longer than L, the dense operand counts as 0 in a jagged result, and the surplus is dropped from
// a dense one.
#include <vector>

#include "runtime/autograd.h"

namespace tessera {

// Dense: padded(x) + y.
Variable JaggedDenseElementwiseAdd(Context& ctx, const Variable& x,
                                   const std::vector<Tensor>& offsets, const Variable& y);
// Jagged: x + y.
Variable JaggedDenseElementwiseAddJaggedOutput(Context& ctx, const Variable& x,
                                               const std::vector<Tensor>& offsets,
                                               const Variable& y);
// Jagged: x + y_0 + y_1.
Variable JaggedDenseDenseElementwiseAddJaggedOutput(Context& ctx, const Variable& x,
                                                    const std::vector<Tensor>& offsets,
                                                    const Variable& y_0, const Variable& y_1);
// Jagged: x · y.
Variable JaggedDenseElementwiseMul(Context& ctx, const Variable& x,
                                   const std::vector<Tensor>& offsets, const Variable& y);

}  // namespace tessera
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_ELEMENTWISE_H_
