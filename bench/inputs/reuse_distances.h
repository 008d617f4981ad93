#ifndef TESSERA_BENCH_INPUTS_REUSE_DISTANCES_H_
#define TESSERA_BENCH_INPUTS_REUSE_DISTANCES_H_
// How long ago an id's row was last used, in distinct rows used since (its stack distance): the
// share of ids with at least each distance. A row's first use in a trace says only that its
// distance is not below the number of rows seen till then, and is counted so (Kaplan and Meier,
// "Nonparametric estimation from incomplete observations", 1958): the law does not depend on the
// trace's length. What is left at the last distance is the share of ids whose row is new however
// long one looks.
#include <cstdint>
#include <vector>

namespace tessera::bench {

struct ReuseDistances {
  std::vector<int64_t> distances;  // ascending from 0
  std::vector<double> at_least;    // share of ids with such a distance or a longer one; [0] is 1
};

// Measures ids that were renamed densely (0, 1, 2, … in any order): at the distances 0, 1, 2, 3, 4,
// 6, 8, 11, 16, … (powers of √2), and last at the number of rows.
ReuseDistances MeasureReuseDistances(const std::vector<int64_t>& ids);

// Returns, for each of `capacities`, the share of all reads that hit a cache of so many rows, which
// gives up the row used longest ago: those whose stack distance is below it. `calls`: the rows that
// each call reads, in any numbers. cold: the cache is empty before each call; else the calls are
// repeated in turn, and a row may be there from a call before. 0 of no reads.
std::vector<double> LruHitShares(const std::vector<std::vector<int64_t>>& calls, bool cold,
                                 const std::vector<int64_t>& capacities);

// One production table of Meta's, 500,000 rows, 379,910 ids ("reuse low" of the artifact of Jain et
// al., "Optimizing CPU performance for recommendation systems at-scale", ISCA 2023).
const ReuseDistances& LowReuseTable();

// The distance that a uniform u in [0, 1) stands for, or −1: a new row. Between two distances the
// law is flat over the logarithm.
int64_t DrawDistance(const ReuseDistances& law, double u);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_INPUTS_REUSE_DISTANCES_H_
