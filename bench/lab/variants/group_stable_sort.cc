#include <algorithm>

#include "bench/lab/update_variant.h"

namespace tessera::bench {
namespace {

void StableSort(std::vector<RowOccurrence>& occurrences) {
  std::stable_sort(occurrences.begin(), occurrences.end(),
                   [](const RowOccurrence& a, const RowOccurrence& b) { return a.row < b.row; });
}

const RegisterUpdate kRegistered({.name = "stable_sort",
                                  .about = "std::stable_sort by row",
                                  .run = StableSort});

}  // namespace
}  // namespace tessera::bench
