#ifndef TESSERA_BENCH_HARNESS_CRITEO_ROWS_H_
#define TESSERA_BENCH_HARNESS_CRITEO_ROWS_H_
// Sizes of the tables of Criteo's features.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace tessera::bench {

// The rows of Criteo's 26 categorical features, at most `cap` each.
inline std::vector<int64_t> CriteoRows(int64_t cap) {
  std::vector<int64_t> rows = {1460,  583,  10131227, 2202608, 305, 24,     12517,   633,   3,
                               93145, 5683, 8351593,  3194,    27,  14992,  5461306, 10,    5652,
                               2173,  4,    7046547,  18,      15,  286181, 105,     142572};
  for (int64_t& r : rows) r = std::min(r, cap);
  return rows;
}

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_CRITEO_ROWS_H_
