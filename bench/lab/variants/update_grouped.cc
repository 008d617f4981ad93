// The obvious update: each table's ids sorted by row, then row after row, a table a thread.
#include <algorithm>

#include "bench/lab/table_update.h"
#include "bench/lab/variant.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

void UpdateGrouped(Context& ctx, const UpdateArgs& args) {
  ForEachTable(ctx, args, [](TableUpdate& table) {
    std::stable_sort(table.occurrences().begin(), table.occurrences().end(),
                     [](const RowOccurrence& a, const RowOccurrence& b) { return a.row < b.row; });
    table.Apply();
  });
}

const RegisterVariant<UpdateArgs> kRegistered(
    {.name = "grouped", .about = "std::stable_sort by row, then row after row", .takes = kTakesAll},
    UpdateGrouped);

}  // namespace
}  // namespace tessera::bench
