#ifndef TESSERA_SERVE_EXPORT_PRUNE_TABLE_H_
#define TESSERA_SERVE_EXPORT_PRUNE_TABLE_H_
// Which rows of a checkpoint's table a served model keeps, and the rows that are left, some at a
// time. What is in memory of a table is a number a row.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "embedding/lookup/index_remap.h"
#include "quant/quantize_table.h"
#include "runtime/context.h"
#include "runtime/tensor.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera::serve {

// Rows that any of these names are dropped, but a table's row of the largest norm always stays.
struct PruneOptions {
  // Drops this share of each table's rows, those of the smallest L2 norms; of equal ones the higher
  // ids.
  double share = 0;
  // Rows whose L2 norm is at most this; below 0: none.
  double max_norm = -1;
  // Rows of which all that the optimizer remembers is zero: the training never met them, or only
  // with gradients of 0.
  bool untouched = false;
  RemapKind remap = RemapKind::kArray;  // how ids find their rows

  bool any() const { return share > 0 || max_norm >= 0 || untouched; }
};

struct RowsKept {
  std::vector<int64_t> ids;     // ascending
  bool all_rows_named = false;  // `ids` is the row of the largest norm alone, which is named, too
};

// The ids whose rows are kept. `parameter` is the table's name in the checkpoint. A row
// with NaN counts as the largest. Throws Error for a share outside [0, 1], and for `untouched`
// where the checkpoint has no optimizer state of the table.
RowsKept KeptRows(Context& ctx, const Checkpoint& checkpoint, const std::string& parameter,
                  const RowSource& source, const PruneOptions& options);

// Calls fn with all rows of a source, some MiB of them at a time, in their order.
void ForEachBlock(Context& ctx, const RowSource& source,
                  const std::function<void(const Tensor&)>& fn);

// A source of these rows alone. REQUIRES: ascending.
RowSource RowsAt(const RowSource& source, std::vector<int64_t> ids);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_PRUNE_TABLE_H_
