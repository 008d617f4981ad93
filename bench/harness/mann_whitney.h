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
//
// How far apart they lie is the shift of Hodges and Lehmann, the median of all differences
// b[j] − a[i]. Its interval is the shifts by which b may be moved back without the test telling the
// sides apart: with D(1) ≤ … ≤ D(n_a n_b) the differences, and k the least U whose p is not below
// the significance, it is D(k) … D(n_a n_b − k + 1).
#include <cstddef>
#include <vector>

namespace tessera::bench {

inline constexpr size_t kExactSamples = 50;

// 1 where a side has no samples, and where all are equal.
double MannWhitney(const std::vector<double>& a, const std::vector<double>& b);

// The least p that so many samples can give, when all of one side lie above the other's:
// 2 / (a + b over a). 1 where a side has none.
double LeastP(size_t a, size_t b);

struct Shift {
  double estimate = 0, low = 0, high = 0;
};

// The shift of b against a, with the interval whose confidence is 1 − significance; without bounds
// where LeastP is not below the significance. p is that without ties. REQUIRES: samples on both
// sides.
Shift HodgesLehmann(std::vector<double> a, std::vector<double> b, double significance);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_HARNESS_MANN_WHITNEY_H_
