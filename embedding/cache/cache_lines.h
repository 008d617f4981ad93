#ifndef TESSERA_EMBEDDING_CACHE_CACHE_LINES_H_
#define TESSERA_EMBEDDING_CACHE_CACHE_LINES_H_
// The row cache's lines: what each holds, and which is evicted next. Plain pointers, passed by
// value to every machine.
//
// Line set·ways + way belongs to a set; a row can lie in the lines of its set only (row_hash.h).
#include "embedding/cache/row_hash.h"

namespace tessera::internal {

// Which numbers of CacheStats lie where.
enum CacheCounter {
  kRequested,
  kUnique,
  kMisses,
  kConflictMisses,
  kEvictions,
  kWriteBacks,
  kCacheCounters
};

// Adds to a count that other threads add to.
TESSERA_HD void AddToCount(int64_t* count, int64_t more) {
#if defined(__CUDA_ARCH__)
  atomicAdd(reinterpret_cast<unsigned long long*>(count), static_cast<unsigned long long>(more));
#else
  __atomic_fetch_add(count, more, __ATOMIC_RELAXED);
#endif
}

struct CacheLines {
  RowHash hash;
  int64_t sets = 1;
  int ways = 1;
  bool lfu = false;
  int64_t* rows = nullptr;   // [lines + scratch]: the row that lies there, −1: none
  int64_t* ranks = nullptr;  // [lines]: the lowest leaves; −1: empty
  int32_t* locks = nullptr;  // [lines]: batches that were prefetched and not released
  uint8_t* dirty = nullptr;  // [lines]: 1 if the line is newer than the table

  TESSERA_HD int64_t lines() const { return sets * ways; }
  TESSERA_HD int64_t SetOf(int64_t row) const {
    return static_cast<int64_t>(hash(row) * static_cast<uint64_t>(sets) >> hash.bits);
  }
  // The line that holds `row`, or −1.
  TESSERA_HD int64_t Find(int64_t row) const {
    const int64_t first = SetOf(row) * ways;
    for (int64_t line = first; line < first + ways; ++line)
      if (rows[line] == row) return line;
    return -1;
  }
  // The line of a set that leaves first, the lowest among equals; −1 if all are locked.
  TESSERA_HD int64_t Victim(int64_t set) const {
    int64_t victim = -1;
    for (int64_t line = set * ways; line < (set + 1) * ways; ++line)
      if (locks[line] == 0 && (victim < 0 || ranks[line] < ranks[victim])) victim = line;
    return victim;
  }
  // The rank of a line of rank `rank` (−1: new) that call number `call` names `times` times.
  TESSERA_HD int64_t RankAfter(int64_t rank, int64_t call, int64_t times) const {
    return lfu ? (rank > 0 ? rank : 0) + times : call;
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_CACHE_CACHE_LINES_H_
