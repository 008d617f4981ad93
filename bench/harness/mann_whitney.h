#ifndef TESSERA_BENCH_HARNESS_MANN_WHITNEY_H_
#define TESSERA_BENCH_HARNESS_MANN_WHITNEY_H_
// The two-sided test of Mann and Whitney: how likely two lists of samples lie as far apart as they
// do if both were drawn from one distribution, whatever that is.
//
//   U = R_a − n_a (n_a + 1) / 2,  R_a: the sum of the ranks of a's samples among all, ties at their
//   mean rank;  z = (|U − n_a n_b / 2| − 1/2) / σ,
//   σ² = n_a n_b / 12 · (n + 1 − Σ(t³ − t) / (n (n − 1)))
//   over groups of t ties;  p = erfc(z / √2)
//
// The normal approximation is good from about 6 samples a side, which p < 0.01 takes anyway.
#include <vector>

namespace tessera::bench {

// 1 where a side has no samples, and where all are equal.
double MannWhitney(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_MANN_WHITNEY_H_
