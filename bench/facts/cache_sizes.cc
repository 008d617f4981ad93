#include "bench/facts/cache_sizes.h"

#include <filesystem>
#include <fstream>

#include "runtime/base/check.h"

namespace tessera::bench {

std::vector<DataCache> DataCaches() {
  std::vector<DataCache> caches;
  for (int index = 0; index < 8; ++index) {
    const std::filesystem::path folder =
        Format("/sys/devices/system/cpu/cpu0/cache/index{}", index);
    DataCache cache;
    int64_t size = 0;
    char unit = 0;
    std::string type;
    std::ifstream(folder / "level") >> cache.level;
    std::ifstream(folder / "type") >> type;
    if (!(std::ifstream(folder / "size") >> size >> unit) || type == "Instruction") continue;
    cache.unified = type == "Unified";
    cache.bytes = size << (unit == 'M' ? 20 : 10);
    caches.push_back(cache);
  }
  return caches;
}

std::string ToString(const std::vector<DataCache>& caches) {
  std::string text;
  for (const DataCache& cache : caches)
    text += Format("{}L{}{} {}K", text.empty() ? "" : ", ", cache.level, cache.unified ? "" : "d",
                   cache.bytes >> 10);
  return text.empty() ? "unknown" : text;
}

}  // namespace tessera::bench
