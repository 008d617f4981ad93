#ifndef TESSERA_BENCH_FACTS_ROW_FACTS_H_
#define TESSERA_BENCH_FACTS_ROW_FACTS_H_
// Facts of a call's rows that are known before it is timed: how many there are, how often each is
// named, and what caches could do for them.
#include <cstdint>
#include <vector>

#include "bench/facts/cache_sizes.h"
#include "bench/facts/facts.h"
#include "embedding/lookup/lookup.h"

namespace tessera::bench {

// The rows that a call names, in the order of its ids; rows of two tables have two numbers.
std::vector<int64_t> RowsNamed(const LookupArgs& args);
// Each of them once, in rising order: how an update meets its rows after it grouped them.
std::vector<int64_t> DistinctRows(std::vector<int64_t> rows);

// "distinct_rows", "working_set_bytes" (distinct rows · bytes of a row), "mean_reuse" (ids a
// distinct row).
Facts ReuseFacts(double ids, double distinct_rows, double row_bytes);

// The rows that calls read, call by call.
struct RowReads {
  std::vector<std::vector<int64_t>> calls;
  double row_bytes = 0;
  int threads = 1;
};

// "lru_l1_hit_share", …: the share of row reads that an LRU cache of rows alone would hit, as large
// as the machine's. A row takes whole lines of 64 bytes. L1 and L2 see one of `threads` equal parts
// of each call, the L3 sees all. cold: caches are empty before each call; else the calls repeat in
// turn, and a row may be there from a call before.
Facts CacheHitFacts(const RowReads& reads, bool cold, const std::vector<DataCache>& caches);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_FACTS_ROW_FACTS_H_
