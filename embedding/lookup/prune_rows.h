#ifndef TESSERA_EMBEDDING_LOOKUP_PRUNE_ROWS_H_
#define TESSERA_EMBEDDING_LOOKUP_PRUNE_ROWS_H_
// Prunes a table: keeps some of its rows, in their order, and makes the map from ids to them.
#include <memory>

#include "embedding/lookup/index_remap.h"
#include "runtime/tensor.h"

namespace tessera {

struct PrunedTable {
  Tensor rows;      // [kept, D], of the type of the table
  Tensor kept_ids;  // [kept] i64, rising: which row of the table each was
  std::shared_ptr<const IndexRemap> remap;
};

// Keeps row e where keep[e] is not 0. table [E, D], keep [E], bool or u8. Waits for a device.
PrunedTable PruneRowsByMaskSync(Context& ctx, const Tensor& table, const Tensor& keep,
                                RemapKind kind = RemapKind::kArray);

// Keeps the `kept` rows of the largest L2 norms; of equal ones those of lower ids (FBGEMM keeps all
// that equal the smallest kept). A norm's square is a sum in double, in the order of the columns; a
// row with NaN counts as the largest. table: f32, f16 or bf16, below 2^32 rows. Throws Error unless
// 0 ≤ kept ≤ E. Waits for a device.
PrunedTable PruneRowsByNormSync(Context& ctx, const Tensor& table, int64_t kept,
                                RemapKind kind = RemapKind::kArray);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_LOOKUP_PRUNE_ROWS_H_
