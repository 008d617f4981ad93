#ifndef TESSERA_RUNTIME_OPS_SOFTMAX_H_
#define TESSERA_RUNTIME_OPS_SOFTMAX_H_
// Softmax over the last dimension.
#include "runtime/autograd.h"

namespace tessera {

// y_i = e^x_i / Σ_j e^x_j of each row; x [..., C], f32. With `lengths` (i64 [G]) the rows are G
// groups of equally many, and those of group g have their first lengths[g] columns alone: the
// others of y are 0. REQUIRES: lengths in [0, C].
Variable Softmax(Context& ctx, const Variable& x, const Tensor& lengths = {});

}  // namespace tessera
#endif  // TESSERA_RUNTIME_OPS_SOFTMAX_H_
