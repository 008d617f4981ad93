#include "bench/inputs/reuse_counts.h"

#include <algorithm>
#include <bit>

namespace tessera::bench {

int ReuseBin(int64_t count) {
  return std::min(static_cast<int>(std::bit_width(static_cast<uint64_t>(count - 1))),
                  kReuseBins - 1);
}

const ReuseCounts& Meta2021() {
  static const ReuseCounts reuse = {
      .rows = {.423, .165, .167, .121, .073, .031, .011, .004, .002, .001, .001, 0, 0, 0, 0, 0, 0},
      .ids = {.056, .043, .075, .099, .112, .091, .064, .052, .049, .050, .054, .058, .0607, .0521,
              .038, .026, .020},
      .ids_a_row = 7.594,
      .ids_a_bag = 8.346};
  return reuse;
}

const ReuseCounts& Meta2022() {
  static const ReuseCounts reuse = {.rows = {.342, .144, .149, .138, .112, .068, .029, .010, .004,
                                             .002, .001, .001, 0, 0, 0, 0, 0},
                                    .ids = {.027, .023, .040, .068, .105, .120, .099, .070, .059,
                                            .054, .040, .0717, .064, .047, .021, .0171, .0751},
                                    .ids_a_row = 12.747,
                                    .ids_a_bag = 13.607};
  return reuse;
}

std::vector<int64_t> CountsOfBatch(const ReuseCounts& reuse, int64_t ids) {
  double total = 0;
  for (const double share : reuse.ids) total += share;
  std::vector<int64_t> counts;
  double owed = 0;  // ids of the counts above that have not become rows
  int64_t left = ids;
  for (int bin = kReuseBins - 1; bin >= 0; --bin) {
    const int64_t last = ReuseBinEnd(bin), first = bin == 0 ? 1 : last / 2 + 1;
    const double share = reuse.ids[static_cast<size_t>(bin)] / total * static_cast<double>(ids);
    if (first > ids) {
      owed += share;
      continue;
    }
    double weight = 0;
    for (int64_t count = first; count <= last; ++count) weight += 1 / static_cast<double>(count);
    for (int64_t count = last; count >= first; --count) {
      owed += share / (weight * static_cast<double>(count));
      for (; owed >= static_cast<double>(count) && left >= count; left -= count) {
        counts.push_back(count);
        owed -= static_cast<double>(count);
      }
    }
  }
  for (; left > 0; --left) counts.push_back(1);
  return counts;
}

}  // namespace tessera::bench
