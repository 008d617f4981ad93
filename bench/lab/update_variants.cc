#include "bench/lab/update_variants.h"

#include <algorithm>
#include <unordered_map>

namespace tessera::bench {
namespace {

void StableSort(std::vector<RowOccurrence>& occurrences) {
  std::stable_sort(occurrences.begin(), occurrences.end(),
                   [](const RowOccurrence& a, const RowOccurrence& b) { return a.row < b.row; });
}

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

// Places by row in a hash table, as FBGEMM's backward of sequences has it.
void HashMap(std::vector<RowOccurrence>& occurrences) {
  std::unordered_map<uint32_t, std::vector<uint32_t>> payloads;
  for (const RowOccurrence& o : occurrences) payloads[o.row].push_back(o.payload);
  occurrences.clear();
  for (const auto& [row, list] : payloads)
    for (const uint32_t payload : list) occurrences.push_back({row, payload});
}

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

}  // namespace

const std::vector<UpdateVariant>& UpdateVariants() {
  static const std::vector<UpdateVariant> variants = {
      {"stable_sort", "std::stable_sort by row", StableSort},
      {"sort_keys", "std::sort of rows and places in one number", SortKeys},
      {"hash_map", "std::unordered_map from row to its occurrences", HashMap},
      {"four_bytes", "a radix sort of all 32 bits, by bytes", FourByteDigits},
  };
  return variants;
}

}  // namespace tessera::bench
