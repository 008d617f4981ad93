#include <unordered_map>

#include "bench/lab/update_variant.h"

namespace tessera::bench {
namespace {

// Places by row in a hash table, as FBGEMM's backward of sequences has it.
void HashMap(std::vector<RowOccurrence>& occurrences) {
  std::unordered_map<uint32_t, std::vector<uint32_t>> payloads;
  for (const RowOccurrence& o : occurrences) payloads[o.row].push_back(o.payload);
  occurrences.clear();
  for (const auto& [row, list] : payloads)
    for (const uint32_t payload : list) occurrences.push_back({row, payload});
}

const RegisterUpdate kRegistered({.name = "hash_map",
                                  .about = "std::unordered_map from row to its occurrences",
                                  .run = HashMap});

}  // namespace
}  // namespace tessera::bench
