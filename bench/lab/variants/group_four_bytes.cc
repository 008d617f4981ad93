#include "bench/lab/update_variant.h"

namespace tessera::bench {
namespace {

// A radix sort by bytes, whatever the table's size.
void FourByteDigits(std::vector<RowOccurrence>& occurrences) {
  std::vector<RowOccurrence> moved(occurrences.size());
  for (int shift = 0; shift < 32; shift += 8) {
    uint32_t next[257] = {};
    for (const RowOccurrence& o : occurrences) ++next[(o.row >> shift & 255) + 1];
    for (int v = 0; v < 256; ++v) next[v + 1] += next[v];
    for (const RowOccurrence& o : occurrences) moved[next[o.row >> shift & 255]++] = o;
    occurrences.swap(moved);
  }
}

const RegisterUpdate kRegistered({.name = "four_bytes",
                                  .about = "a radix sort of all 32 bits, by bytes",
                                  .run = FourByteDigits});

}  // namespace
}  // namespace tessera::bench
