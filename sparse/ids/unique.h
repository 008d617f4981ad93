#ifndef TESSERA_SPARSE_IDS_UNIQUE_H_
#define TESSERA_SPARSE_IDS_UNIQUE_H_
// Each distinct id once: what input deduplication looks up and sends instead of all ids.
#include <span>

#include "runtime/tensor.h"

namespace tessera {

struct UniqueIds {
  Tensor values;         // [U]: ascending inside each group, groups joined; dtype of ids
  Tensor group_offsets;  // i64 [G+1]: where the groups begin in values
  Tensor inverse;        // i64 [N]: ids[i] == values[inverse[i]]
  Tensor counts;         // i64 [U]: how often each came; undefined unless asked for
};

// Group g is ids group_offsets[g] … group_offsets[g+1] (one table's features, say); ids i32 or i64.
// Waits for a device, for U. Throws Error unless the offsets start at 0, don't fall, and end at N.
UniqueIds UniquePerGroup(Context& ctx, const Tensor& ids, std::span<const int64_t> group_offsets,
                         bool counts = true);
// All ids as one group.
UniqueIds Unique(Context& ctx, const Tensor& ids, bool counts = true);

}  // namespace tessera
#endif  // TESSERA_SPARSE_IDS_UNIQUE_H_
