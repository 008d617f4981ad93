#include <unordered_map>
#include <vector>

#include "bench/lab/grouping_kernel.h"
#include "bench/lab/variant.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

// Places by row in a hash table, as FBGEMM's backward of sequences has it.
void HashMap(Context& ctx, const GroupingArgs& args) {
  ForEachTable(ctx, args, [](GroupingTable& table) {
    std::unordered_map<uint32_t, std::vector<uint32_t>> payloads;
    for (const RowOccurrence& o : table.all()) payloads[o.row].push_back(o.payload);
    RowOccurrence* to = table.occurrences;
    for (const auto& [row, list] : payloads)
      for (const uint32_t payload : list) *to++ = {row, payload};
  });
}

const RegisterVariant<GroupingArgs> kRegistered(
    {.name = "hash_map", .about = "std::unordered_map from row to its occurrences"}, HashMap);

}  // namespace
}  // namespace tessera::bench
