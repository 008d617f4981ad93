#include "planner/step_model/row_popularity.h"

#include <algorithm>
#include <cmath>

#include "runtime/base/check.h"

namespace tessera {
namespace {

constexpr int64_t kRowBlocks = 256;

// Σ k^−s for k in [first, end): summed where that is short, else the integral between midpoints.
double PowerSum(int64_t first, int64_t end, double s) {
  constexpr int64_t kSummed = 32;
  double sum = 0;
  const int64_t summed = std::min(end, first + kSummed);
  for (int64_t k = first; k < summed; ++k) sum += std::pow(static_cast<double>(k), -s);
  if (summed == end) return sum;
  const double from = static_cast<double>(summed) - 0.5, to = static_cast<double>(end) - 0.5;
  if (std::abs(s - 1) < 1e-9) return sum + std::log(to / from);
  return sum + (std::pow(to, 1 - s) - std::pow(from, 1 - s)) / (1 - s);
}

std::vector<double> SortedShares(int64_t rows, double exponent, double total) {
  const int64_t blocks = std::min(rows, kRowBlocks);
  std::vector<double> shares;
  for (int64_t b = 0; b < blocks; ++b)
    shares.push_back(PowerSum(rows * b / blocks + 1, rows * (b + 1) / blocks + 1, exponent) /
                     total);
  return shares;
}

// The share of ids that name rows before `position`, which is a fraction of all rows.
double ShareBefore(const std::vector<double>& shares, double position) {
  const double at = position * static_cast<double>(shares.size());
  const auto whole = std::min(static_cast<size_t>(at), shares.size());
  double sum = 0;
  for (size_t i = 0; i < whole; ++i) sum += shares[i];
  return whole < shares.size() ? sum + shares[whole] * (at - static_cast<double>(whole)) : sum;
}

}  // namespace

RowPopularity UniformRows(int64_t rows) {
  TESSERA_CHECK(rows > 0, "rows of a table: {}; expected above 0", rows);
  return {{{static_cast<double>(rows), 1}}, {}};
}

RowPopularity ZipfRows(int64_t rows, double exponent, bool sorted) {
  TESSERA_CHECK(exponent >= 0, "exponent {} of a power law of rows; expected at least 0", exponent);
  if (exponent == 0) return UniformRows(rows);
  TESSERA_CHECK(rows > 0, "rows of a table: {}; expected above 0", rows);
  const double total = PowerSum(1, rows + 1, exponent);
  RowPopularity popularity;
  for (int64_t first = 1; first <= rows;) {
    const int64_t end = std::min(rows + 1, first + std::max<int64_t>(1, first / 2));
    popularity.groups.push_back(
        {static_cast<double>(end - first), PowerSum(first, end, exponent) / total});
    first = end;
  }
  if (sorted) popularity.row_shares = SortedShares(rows, exponent, total);
  return popularity;
}

double DistinctRows(const RowPopularity& popularity, double ids) {
  double distinct = 0;
  for (const RowGroup& g : popularity.groups)
    distinct -= g.rows * std::expm1(-ids * g.share / g.rows);
  return distinct;
}

double ShareOfRows(const RowPopularity& popularity, int64_t rows, int64_t begin, int64_t end) {
  const auto all = static_cast<double>(rows);
  const double from = static_cast<double>(begin) / all, to = static_cast<double>(end) / all;
  if (popularity.row_shares.empty()) return to - from;
  return ShareBefore(popularity.row_shares, to) - ShareBefore(popularity.row_shares, from);
}

}  // namespace tessera
