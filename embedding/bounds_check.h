#ifndef TESSERA_EMBEDDING_BOUNDS_CHECK_H_
#define TESSERA_EMBEDDING_BOUNDS_CHECK_H_
// Finds ids that name no row and offsets that make no sense, before a lookup meets them. FBGEMM's
// bounds_check_indices, but the caller's tensors are never changed: what is mended is a copy.
//
//   1. the last offset ≠ number of ids: it becomes that number
//   2. for each bag in order, with the offsets as mended so far: unless 0 ≤ start ≤ end ≤ N,
//      start = clamp(start, 0, N) and end = clamp(end, start, N); then each of its ids that is not
//      −1 ("pruned") and not in [0, rows) becomes 0
//
// Each finding is an error in FATAL, counted in WARNING, mended silently in IGNORE. NONE looks at
// nothing; a lookup then skips ids that name no row.
#include <span>
#include <string>

#include "embedding/pooling.h"
#include "embedding/row_ops.h"
#include "runtime/tensor.h"

namespace tessera {

struct BoundsCheckResult {
  Tensor ids, offsets;   // the arguments themselves where nothing had to be mended
  int64_t warnings = 0;  // findings, in WARNING
};

// ids [N], offsets [F·B + 1], key-major, i32 or i64; rows[f] rows of the table that feature f
// reads. A first offset above 0 is legal. Throws Error for a number of offsets that is no F·B + 1
// (in every mode but NONE) and, in FATAL, for any finding, naming feature, bag and id.
BoundsCheckResult CheckBounds(Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows);

// The ids [begin, end) of one feature, whose offsets are known to be right: itself or a mended
// copy, and the findings.
BoundsCheckResult CheckIds(Context& ctx, BoundsCheckMode mode, const Tensor& ids, int64_t begin,
                           int64_t end, int64_t rows, const std::string& feature);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_BOUNDS_CHECK_H_
