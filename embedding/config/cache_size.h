#ifndef TESSERA_EMBEDDING_CONFIG_CACHE_SIZE_H_
#define TESSERA_EMBEDDING_CONFIG_CACHE_SIZE_H_
// The size of a table's row cache (embedding/cache/row_cache.h), from its configuration. A line
// holds a row with its states, of `line_bytes`.
#include <algorithm>
#include <cmath>
#include <cstdint>

#include "embedding/config/placement.h"

namespace tessera {

// The lines of the cache of a part of so many rows: whole sets, no more than the part needs.
inline int64_t NumCacheLines(const CacheConfig& config, int64_t rows, int64_t line_bytes) {
  const int64_t ways = config.ways, all = (rows + ways - 1) / ways;
  if (config.bytes > 0) return std::min(config.bytes / line_bytes / ways, all) * ways;
  const double share = static_cast<double>(rows) * config.load_factor;
  return std::min(static_cast<int64_t>(std::ceil(share / static_cast<double>(ways))), all) * ways;
}

// A cache keeps beside each line which row lies there and its rank (i64), a lock (i32), and whether
// it changed (u8).
inline constexpr int64_t kLineIndexBytes = 8 + 8 + 4 + 1;

// The bytes of so many lines with what is kept beside them.
inline double BytesOfLines(double lines, double line_bytes) {
  return lines * (line_bytes + static_cast<double>(kLineIndexBytes));
}

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CONFIG_CACHE_SIZE_H_
