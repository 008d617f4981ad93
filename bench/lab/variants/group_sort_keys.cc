#include <algorithm>
#include <utility>

#include "bench/lab/update_variant.h"

namespace tessera::bench {
namespace {

// Rows ascending by their number, then the place in the batch: one unstable sort of 64-bit keys.
void SortKeys(std::vector<RowOccurrence>& occurrences) {
  std::vector<uint64_t> keys;
  for (size_t i = 0; i < occurrences.size(); ++i)
    keys.push_back(uint64_t{occurrences[i].row} << 32 | i);
  std::sort(keys.begin(), keys.end());
  std::vector<RowOccurrence> sorted;
  for (const uint64_t key : keys) sorted.push_back(occurrences[static_cast<uint32_t>(key)]);
  occurrences = std::move(sorted);
}

const RegisterUpdate kRegistered({.name = "sort_keys",
                                  .about = "std::sort of rows and places in one number",
                                  .run = SortKeys});

}  // namespace
}  // namespace tessera::bench
