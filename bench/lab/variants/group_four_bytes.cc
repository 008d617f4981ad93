#include <utility>

#include "bench/lab/grouping_kernel.h"
#include "bench/lab/variant.h"
#include "runtime/context.h"

namespace tessera::bench {
namespace {

// A radix sort by bytes, whatever the table's size.
void FourByteDigits(Context& ctx, const GroupingArgs& args) {
  ForEachTable(ctx, args, [](GroupingTable& table) {
    for (int shift = 0; shift < 32; shift += 8) {
      uint32_t next[257] = {};
      for (const RowOccurrence& o : table.all()) ++next[(o.row >> shift & 255) + 1];
      for (int v = 0; v < 256; ++v) next[v + 1] += next[v];
      for (const RowOccurrence& o : table.all()) table.scratch[next[o.row >> shift & 255]++] = o;
      std::swap(table.occurrences, table.scratch);
    }
  });
}

const RegisterVariant<GroupingArgs> kRegistered({.name = "four_bytes",
                                                 .about = "a radix sort of all 32 bits, by bytes"},
                                                FourByteDigits);

}  // namespace
}  // namespace tessera::bench
