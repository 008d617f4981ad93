#ifndef TESSERA_BENCH_LAB_GROUPING_KERNEL_H_
#define TESSERA_BENCH_LAB_GROUPING_KERNEL_H_
// A grouping brings the ids of a batch together, row by row, as an update does.
#include <cstdint>
#include <span>

#include "embedding/update/row_update.h"
#include "runtime/context.h"

namespace tessera::bench {

using RowOccurrence = internal::Occurrence<uint32_t>;

// The occurrences of one table's rows, in the order of the batch.
struct GroupingTable {
  RowOccurrence* occurrences;
  RowOccurrence* scratch;  // room for as many
  int64_t size, num_rows;  // rows are below num_rows

  std::span<RowOccurrence> all() const { return {occurrences, static_cast<size_t>(size)}; }
};

// A grouping leaves equal rows side by side in `occurrences` of each table, each row's in the order
// they came in; the order of rows is free, as rows do not see each other. `occurrences` and
// `scratch` may be swapped.
struct GroupingArgs {
  std::span<GroupingTable> tables;
};

// Calls fn(GroupingTable&) for each table, a table a thread.
template <typename Fn>
void ForEachTable(Context& ctx, const GroupingArgs& args, const Fn& fn) {
  ParallelFor(ctx, std::ssize(args.tables), 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) fn(args.tables[static_cast<size_t>(t)]);
  });
}

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_GROUPING_KERNEL_H_
