#ifndef TESSERA_SPARSE_OPS_CUMSUM_H_
#define TESSERA_SPARSE_OPS_CUMSUM_H_
// Cumulative sums and ranges over the lengths and offsets of segments.
//
//   lengths [n]      2 0 3
//   offsets [n+1]    0 2 2 5    ("complete": starts at 0, ends at the total)
//
// Both are i32 or i64; results keep the dtype of the input. Cumulative sums that it does not hold
// wrap around, as FBGEMM's do.
#include "runtime/tensor.h"

namespace tessera {

// y[0] = 0, y[i+1] = y[i] + t[i]. t is [n] or [m, n] (summed along each row); y has one more
// column.
Tensor CompleteCumsum(Context& ctx, const Tensor& t);
// y[i] = t[0] + … + t[i]; same shape.
Tensor InclusiveCumsum(Context& ctx, const Tensor& t);
// y[i] = t[0] + … + t[i−1]; same shape.
Tensor ExclusiveCumsum(Context& ctx, const Tensor& t);

// offsets[i+1] − offsets[i]. REQUIRES: offsets has one element at least. Throws Error for offsets
// that fall, on a CPU.
Tensor LengthsFromOffsets(Context& ctx, const Tensor& offsets);

// 0, 1, 2, … inside each segment, joined. Throws Error for a negative length.
Tensor LengthsRange(Context& ctx, const Tensor& lengths);
// 0, 1, 2, … inside each segment, from offsets without their end, which is range_size. Throws Error
// if they fall or pass range_size, do not begin at 0, or are none beside a range_size above 0.
Tensor OffsetsRange(Context& ctx, const Tensor& offsets, int64_t range_size);

}  // namespace tessera
#endif  // TESSERA_SPARSE_OPS_CUMSUM_H_
