#include "planner/step_model/row_popularity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <random>
#include <set>

#include "runtime/base/check.h"

namespace tessera {
namespace {

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

// Distinct rows of n draws by the definition, row by row.
double ExactDistinct(int64_t rows, double exponent, double n) {
  double total = 0, distinct = 0;
  for (int64_t k = 1; k <= rows; ++k) total += std::pow(double(k), -exponent);
  for (int64_t k = 1; k <= rows; ++k)
    distinct += 1 - std::exp(-n * std::pow(double(k), -exponent) / total);
  return distinct;
}

TEST(DistinctRows, OfAPowerLawIsThatOfItsRows) {
  for (const double exponent : {0.0, 0.5, 1.0, 1.3})
    for (const int64_t rows : {1, 7, 1000, 200'000})
      for (const double n : {10.0, 1000.0, 1e6}) {
        const double exact = ExactDistinct(rows, exponent, n);
        EXPECT_NEAR(DistinctRows(ZipfRows(rows, exponent, false), n), exact, 0.01 * exact)
            << rows << " rows, exponent " << exponent << ", " << n << " ids";
      }
}

TEST(DistinctRows, OfDrawsIsWhatWasDrawn) {
  std::mt19937 random(3);
  std::set<unsigned> rows;
  for (int i = 0; i < 5000; ++i) rows.insert(random() % 4000);
  EXPECT_NEAR(DistinctRows(UniformRows(4000), 5000), double(rows.size()), 60);
}

TEST(ZipfRows, SharesAddUp) {
  for (const int64_t rows : {1, 2, 100, 1'000'000'000}) {
    const RowPopularity p = ZipfRows(rows, 1.1, true);
    double share = 0, count = 0;
    for (const RowGroup& g : p.groups) {
      share += g.share;
      count += g.rows;
    }
    EXPECT_NEAR(share, 1, 1e-3) << rows;
    EXPECT_EQ(count, double(rows));
    EXPECT_NEAR(Sum(p.row_shares), 1, 1e-3) << rows;
  }
}

TEST(ShareOfRows, OfSortedRowsIsLargestInFront) {
  const RowPopularity sorted = ZipfRows(1000, 1, true), strewn = ZipfRows(1000, 1, false);
  EXPECT_DOUBLE_EQ(ShareOfRows(strewn, 1000, 0, 250), 0.25);
  double sum = 0, before = 1;
  for (int64_t begin = 0; begin < 1000; begin += 250) {
    const double share = ShareOfRows(sorted, 1000, begin, begin + 250);
    EXPECT_LT(share, before);
    before = share;
    sum += share;
  }
  EXPECT_NEAR(sum, 1, 1e-3);
  EXPECT_GT(ShareOfRows(sorted, 1000, 0, 250), 0.75);
}

TEST(RowPopularity, RefusesWhatIsNone) {
  EXPECT_THROW(UniformRows(0), Error);
  EXPECT_THROW(ZipfRows(10, -1, false), Error);
}

}  // namespace
}  // namespace tessera
