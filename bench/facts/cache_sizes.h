#ifndef TESSERA_BENCH_FACTS_CACHE_SIZES_H_
#define TESSERA_BENCH_FACTS_CACHE_SIZES_H_
// The caches of a core that hold data, as /sys has them.
#include <cstdint>
#include <string>
#include <vector>

namespace tessera::bench {

struct DataCache {
  int level = 1;
  bool unified = false;  // for instructions, too
  int64_t bytes = 0;
};

// Returns those of the first core, the nearest first; none where /sys does not list them.
std::vector<DataCache> DataCaches();

// "L1d 32K, L2 512K, L3 16384K"; "unknown" of none.
std::string ToString(const std::vector<DataCache>& caches);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_FACTS_CACHE_SIZES_H_
