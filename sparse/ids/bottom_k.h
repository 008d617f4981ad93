#ifndef TESSERA_SPARSE_IDS_BOTTOM_K_H_
#define TESSERA_SPARSE_IDS_BOTTOM_K_H_
// Takes the first k ids of each row (FBGEMM's bottom_k_per_row), as generators of skewed ids do to
// make bags without repeats.
#include "runtime/tensor.h"

namespace tessera {

// input [..., C] i64, read as rows of C. k_offsets [2]: every row gives k = k_offsets[1] −
// k_offsets[0] numbers; k_offsets [rows + 1]: row i gives k_offsets[i+1] − k_offsets[i]. With
// unique they are the row's first k distinct numbers, ascending; else its first k as they are (the
// k smallest of a sorted row). Returns i64 [Σ k]. Throws Error for a row with fewer than k
// (distinct) numbers, and for offsets that fall. Waits for a device.
Tensor BottomKPerRow(Context& ctx, const Tensor& input, const Tensor& k_offsets, bool unique);

}  // namespace tessera
#endif  // TESSERA_SPARSE_IDS_BOTTOM_K_H_
