#ifndef TESSERA_BENCH_LAB_UPDATE_VARIANTS_H_
#define TESSERA_BENCH_LAB_UPDATE_VARIANTS_H_
// Other ways to bring the occurrences of each row together before an update, checked against ours
// and timed beside it by `tessera bench lab --kernel update`. What follows is the same executor, so
// only the grouping is compared. A line in update_variants.cc makes one known.
#include <string>
#include <vector>

#include "embedding/update/row_update.h"
#include "embedding/update/update.h"
#include "runtime/context.h"

namespace tessera::bench {

using RowOccurrence = internal::Occurrence<uint32_t>;

// Brings equal rows together, each row's occurrences in the order they came in; the order of rows
// is free, as rows do not see each other.
using Grouping = void (*)(std::vector<RowOccurrence>& occurrences);

struct UpdateVariant {
  std::string name, about;
  Grouping group;
};
const std::vector<UpdateVariant>& UpdateVariants();

// An update with this grouping, a table a thread. REQUIRES: rule Sgd or RowwiseAdagrad; rows of f32
// and fewer than 2^32 of them, dim at most 256; one feature a table, pooled by SUM without weights.
void UpdateGrouped(Context& ctx, const UpdateArgs& args, Grouping group);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_UPDATE_VARIANTS_H_
