#include "embedding/storage/started_rows.h"

#include <algorithm>

namespace tessera {

int64_t CountRows(const std::vector<RunOfRows>& runs) {
  int64_t rows = 0;
  for (const RunOfRows& run : runs) rows += run.size();
  return rows;
}

std::vector<RunOfRows> JoinedRuns(std::vector<RunOfRows> a, const std::vector<RunOfRows>& b) {
  a.insert(a.end(), b.begin(), b.end());
  std::ranges::sort(a, {}, &RunOfRows::begin);
  std::vector<RunOfRows> joined;
  for (const RunOfRows& run : a) {
    if (joined.empty() || joined.back().end < run.begin)
      joined.push_back(run);
    else
      joined.back().end = std::max(joined.back().end, run.end);
  }
  return joined;
}

}  // namespace tessera
