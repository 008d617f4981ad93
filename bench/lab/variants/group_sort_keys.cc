#include <algorithm>
#include <utility>
#include <vector>

#include "bench/lab/grouping_kernel.h"
#include "bench/lab/variant.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

// Rows ascending by their number, then the place in the batch: one unstable sort of 64-bit keys.
void SortKeys(Context& ctx, const GroupingArgs& args) {
  ForEachTable(ctx, args, [](GroupingTable& table) {
    std::vector<uint64_t> keys;
    for (const RowOccurrence& o : table.all()) keys.push_back(uint64_t{o.row} << 32 | keys.size());
    std::sort(keys.begin(), keys.end());
    for (size_t i = 0; i < keys.size(); ++i)
      table.scratch[i] = table.occurrences[static_cast<uint32_t>(keys[i])];
    std::swap(table.occurrences, table.scratch);
  });
}

const RegisterVariant<GroupingArgs> kRegistered(
    {.name = "sort_keys", .about = "std::sort of rows and places in one number"}, SortKeys);

}  // namespace
}  // namespace tessera::bench
