#ifndef TESSERA_EMBEDDING_TABLE_OPTIMIZER_STATE_H_
#define TESSERA_EMBEDDING_TABLE_OPTIMIZER_STATE_H_
// Splits and merges the optimizer state of a table by rows and columns, as resharding does.
//
//   [E, D] state    a part has its rows and columns
//   [E] state       a part has its rows; parts that differ in columns alone have the same
#include <span>
#include <string>
#include <vector>

#include "runtime/named_parameter.h"
#include "runtime/tensor.h"

namespace tessera {

// One thing a rule remembers of one table, [E, D] or [E].
using OptimizerState = NamedTensor;

// A rectangle of a table.
struct TablePart {
  int64_t first_row = 0, num_rows = 0, first_column = 0, num_columns = 0;
};

// The part's states, as copies. Throws Error for a part that is not inside the table. REQUIRES:
// states of one table.
std::vector<OptimizerState> SplitOptimizerStates(Context& ctx,
                                                 std::span<const OptimizerState> states,
                                                 const TablePart& part);

struct OptimizerStatePart {
  TablePart part;
  std::vector<OptimizerState> states;
};
// The states of the whole [rows, dim] table, in the order of the first part's. Throws Error for
// parts that overlap, leave something out or differ in names or dtypes, and for [E] states that
// parts of the same rows do not agree on, bit for bit (this comparison waits for a device).
std::vector<OptimizerState> MergeOptimizerStates(Context& ctx, int64_t rows, int64_t dim,
                                                 std::span<const OptimizerStatePart> parts);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_OPTIMIZER_STATE_H_
