#ifndef TESSERA_BENCH_EVICTION_BELADY_H_
#define TESSERA_BENCH_EVICTION_BELADY_H_
// Hits of the best choice of rows on a trace known beforehand: Belady's MIN.
//
// Ids come in batches. At most `capacity` of them have rows when a batch comes; after it, rows go
// to any of those that had one or were named. An occurrence is a hit if its id had a row when the
// batch came, or was named before it in the same batch. So each stretch between two batches that
// name an id, and none between them does, is a hit if a row is kept for it: of all stretches that
// want a row, those that end last give way, which is optimal. With batches of one id it is the
// offline optimum of a cache that may refuse what it is given.
#include <cstdint>
#include <span>

namespace tessera::bench {

// How many occurrences are hits. Memory goes with the largest id: RenamedDensely
// (bench/inputs/trace.h) makes ids small. REQUIRES: ids ≥ 0, batch > 0, capacity ≥ 0.
int64_t BestHits(std::span<const int64_t> ids, int64_t batch, int64_t capacity);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EVICTION_BELADY_H_
