#include <algorithm>

#include "bench/lab/grouping_kernel.h"
#include "bench/lab/variant.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

void StableSort(Context& ctx, const GroupingArgs& args) {
  ForEachTable(ctx, args, [](GroupingTable& table) {
    std::stable_sort(table.all().begin(), table.all().end(),
                     [](const RowOccurrence& a, const RowOccurrence& b) { return a.row < b.row; });
  });
}

const RegisterVariant<GroupingArgs> kRegistered({.name = "stable_sort",
                                                 .about = "std::stable_sort by row"},
                                                StableSort);

}  // namespace
}  // namespace tessera::bench
