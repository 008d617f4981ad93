#include "planner/calibration/least_squares.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/base/check.h"

namespace tessera {
namespace {

// min |A·x − 1|² over x ≥ 0 by one coordinate after another: the problem is convex.
std::vector<double> Solve(const std::vector<std::vector<double>>& rows, size_t n) {
  constexpr int kMaxSweeps = 20000;
  std::vector<double> x(n), rest(rows.size(), -1), squares(n);
  for (const std::vector<double>& row : rows)
    for (size_t j = 0; j < n; ++j) squares[j] += row[j] * row[j];
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    double moved = 0;
    for (size_t j = 0; j < n; ++j) {
      if (squares[j] == 0) continue;
      double slope = 0;
      for (size_t i = 0; i < rows.size(); ++i) slope += rows[i][j] * rest[i];
      const double next = std::max(0.0, x[j] - slope / squares[j]), step = next - x[j];
      for (size_t i = 0; i < rows.size(); ++i) rest[i] += step * rows[i][j];
      moved = std::max(moved, std::abs(step) * std::sqrt(squares[j]));
      x[j] = next;
    }
    if (moved < 1e-9) break;
  }
  return x;
}

}  // namespace

std::vector<double> FitPrices(const std::vector<Bill>& bills) {
  TESSERA_CHECK(!bills.empty(), "no bills to take prices from");
  const size_t n = bills[0].counts.size();
  std::vector<std::vector<double>> rows;
  for (const Bill& bill : bills) {
    TESSERA_CHECK_EQ(bill.counts.size(), n, "counts of a bill");
    TESSERA_CHECK(bill.seconds > 0, "a bill of {} seconds", bill.seconds);
    rows.push_back(bill.counts);
    for (double& count : rows.back()) count /= bill.seconds;
  }
  // Columns are scaled to at most 1, so that the order of magnitude of a count does not matter.
  std::vector<double> scale(n, 0);
  for (const std::vector<double>& row : rows)
    for (size_t j = 0; j < n; ++j) scale[j] = std::max(scale[j], row[j]);
  for (std::vector<double>& row : rows)
    for (size_t j = 0; j < n; ++j)
      if (scale[j] > 0) row[j] /= scale[j];
  std::vector<double> prices = Solve(rows, n);
  for (size_t j = 0; j < n; ++j)
    if (scale[j] > 0) prices[j] /= scale[j];
  return prices;
}

std::vector<double> FitWithOverhead(std::vector<Bill> bills) {
  const auto all_cost = [](const std::vector<double>& prices) {
    return std::all_of(prices.begin() + 1, prices.end(), [](double price) { return price > 0; });
  };
  std::vector<double> prices = FitPrices(bills);
  if (all_cost(prices)) return prices;
  for (Bill& bill : bills) bill.counts[0] = 0;
  prices = FitPrices(bills);
  if (all_cost(prices)) return prices;
  for (Bill& bill : bills)
    bill.counts = {std::accumulate(bill.counts.begin(), bill.counts.end(), 0.0)};
  std::fill(prices.begin() + 1, prices.end(), FitPrices(bills)[0]);
  return prices;
}

}  // namespace tessera
