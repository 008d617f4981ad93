#ifndef TESSERA_EMBEDDING_LOOKUP_BOUNDS_CHECK_H_
#define TESSERA_EMBEDDING_LOOKUP_BOUNDS_CHECK_H_
// Finds ids that name no row and offsets that make no sense, before a lookup meets them. FBGEMM's
// bounds_check_indices, but the caller's tensors are never changed: what is mended is a copy.
//
//   1. the last offset ≠ number of ids: it becomes that number
//   2. for each bag in order, with the offsets as mended so far: unless 0 ≤ start ≤ end ≤ N,
//      start = clamp(start, 0, N) and end = clamp(end, start, N); then each of its ids that is not
//      −1 ("pruned") and not in [0, rows) becomes 0
//
// Each finding is an error in FATAL, counted in WARNING, mended silently in IGNORE. NONE looks at
// nothing; a lookup then skips ids that name no row. On a GPU, FATAL waits for the device, since it
// may have to throw; CheckIds does not in the other modes.
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "embedding/config/pooling.h"
#include "embedding/lookup/bounds_check_report.h"
#include "embedding/lookup/row_ops.h"
#include "runtime/tensor.h"

namespace tessera {

struct BoundsCheckResult {
  Tensor ids, offsets;   // the arguments themselves where nothing had to be mended
  int64_t warnings = 0;  // findings, in WARNING
};

// ids [N], offsets [F·B + 1], key-major, i32 or i64; rows[f] rows of the table that feature f
// reads. A first offset above 0 is legal. Findings in WARNING are also added to `log`, if it is
// defined (a wrong last offset to the last feature's). Throws Error for a number of offsets that is
// no F·B + 1 (in every mode but NONE) and, in FATAL, for any finding, naming feature, bag and id of
// the first, and how many there are. Waits.
BoundsCheckResult CheckBounds(Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                              const Tensor& offsets, std::span<const int64_t> rows,
                              const BoundsCheckLog& log = {});

// Ids [begin, end) of a KJT, in bags [first_bag, first_bag + num_bags) of its offsets, which one
// feature reads from a table of `rows` rows.
struct CheckedIds {
  int64_t begin, end, rows;
  std::string_view feature;
  int64_t first_bag, num_bags;
  std::optional<BoundsCheckMode> mode = {};  // absent: that of the call
};

// Checks ids of features whose offsets are known to be right, and returns for each feature the ids
// to read: `ids` itself or a mended copy. Findings in WARNING are added to `log`, if it is defined:
// an entry a feature, on ctx's device. In FATAL the first bad id is an error, naming feature, bag,
// id, and how many bad ids the feature has. Features in FATAL are looked at before the others.
std::vector<Tensor> CheckIds(Context& ctx, BoundsCheckMode mode, const Tensor& ids,
                             const Tensor& offsets, std::span<const CheckedIds> features,
                             const BoundsCheckLog& log);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_LOOKUP_BOUNDS_CHECK_H_
