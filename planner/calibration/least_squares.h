#ifndef TESSERA_PLANNER_CALIBRATION_LEAST_SQUARES_H_
#define TESSERA_PLANNER_CALIBRATION_LEAST_SQUARES_H_
// Prices from bills: given what was counted in each of several measurements and what it took in
// all, the prices, none below 0, for which the relative errors' squares add up to the least.
#include <vector>

namespace tessera {

struct Bill {
  std::vector<double> counts;
  double seconds = 0;
};

// One price a count. A count that never occurs has the price 0. REQUIRES: bills of the same length,
// of more than 0 seconds.
std::vector<double> FitPrices(const std::vector<Bill>& bills);

// Prices of bills of counts {1, n, …}. Where one of n, … costs nothing, noise hid that more costs
// more: then the first price is 0, and where that does not help, all others are the same.
std::vector<double> FitWithOverhead(std::vector<Bill> bills);

}  // namespace tessera
#endif  // TESSERA_PLANNER_CALIBRATION_LEAST_SQUARES_H_
