#ifndef TESSERA_BENCH_HARNESS_MANN_WHITNEY_H_
#define TESSERA_BENCH_HARNESS_MANN_WHITNEY_H_
// The two-sided test of Mann and Whitney: how likely two lists of samples lie as far apart as they
// do if both were drawn from one distribution, whatever that is.
//
//   U = R_a − n_a (n_a + 1) / 2,  R_a: the sum of the ranks of a's samples among all, ties at their
//   mean rank
//
// Up to kExactSamples samples in all, p is exact: the share of all ways to deal the ranks to the
// sides whose U lies as far from n_a n_b / 2. Above, by the normal approximation:
//
//   z = (|U − n_a n_b / 2| − 1/2) / σ;  σ² = n_a n_b / 12 · (n + 1 − Σ(t³ − t) / (n (n − 1)))
//   over groups of t ties;  p = erfc(z / √2)
#include <cstddef>
#include <vector>

namespace tessera::bench {

inline constexpr size_t kExactSamples = 50;

// 1 where a side has no samples, and where all are equal.
double MannWhitney(const std::vector<double>& a, const std::vector<double>& b);

// The least p that so many samples can give, when all of one side lie above the other's:
// 2 / (a + b over a). 1 where a side has none.
double LeastP(size_t a, size_t b);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_MANN_WHITNEY_H_
