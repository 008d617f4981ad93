#ifndef TESSERA_SPARSE_JAGGED_JAGGED_SOFTMAX_H_
#define TESSERA_SPARSE_JAGGED_JAGGED_SOFTMAX_H_
// Softmax over the rows of a bag.
#include "runtime/autograd.h"

namespace tessera {

// y[r, d] = e^(x[r, d] − m) / Σ over the rows of the bag, m their largest; sums in the order of
// runtime/numbers/lanes.h. x [N, D] f32, offsets [B+1]. Never waits. Throws Error for offsets that
// don't fit or a bag longer than max_length (the CPU; a device takes bags of any length).
Variable JaggedSoftmax(Context& ctx, const Variable& x, const Tensor& offsets, int64_t max_length);

}  // namespace tessera
#endif  // TESSERA_SPARSE_JAGGED_JAGGED_SOFTMAX_H_
