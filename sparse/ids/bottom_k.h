#ifndef TESSERA_SPARSE_IDS_BOTTOM_K_H_
#define TESSERA_SPARSE_IDS_BOTTOM_K_H_
// The first k ids of each row (FBGEMM's bottom_k_per_row), of which generators of skewed ids make
// bags without repeated ids.
#include "runtime/tensor.h"

namespace tessera {

// input [..., C] i64, read as rows of C. k_offsets [2]: k_offsets[1] − k_offsets[0] of every row;
// or [rows + 1]: k_offsets[i+1] − k_offsets[i] of row i. unique: of each row the first k distinct
// numbers, ascending; else its first k numbers as they are (the k smallest of a sorted row). -> [Σ
// k]. Throws Error for a row with fewer than k (distinct) numbers, and for offsets that fall. Waits
// for a device.
Tensor BottomKPerRow(Context& ctx, const Tensor& input, const Tensor& k_offsets, bool unique);

}  // namespace tessera
#endif  // TESSERA_SPARSE_IDS_BOTTOM_K_H_
