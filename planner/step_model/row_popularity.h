#ifndef TESSERA_PLANNER_STEP_MODEL_ROW_POPULARITY_H_
#define TESSERA_PLANNER_STEP_MODEL_ROW_POPULARITY_H_
// How often a feature names which rows: what a batch's number of distinct rows, the use of caches,
// and the share of a block of rows follow from. Plain data.
//
//   groups       rows that are named alike: their number, and the share of ids that name one of
//                them; shares sum to 1. The expected distinct rows of n ids are
//                Σ rows·(1 − exp(−n·share / rows))
//   row_shares   the share of ids of each of so many equal blocks of rows, from the first row to
//                the last; empty: equal
#include <cstdint>
#include <vector>

namespace tessera {

struct RowGroup {
  double rows = 0, share = 0;

  friend bool operator==(const RowGroup&, const RowGroup&) = default;
};

struct RowPopularity {
  std::vector<RowGroup> groups = {};
  std::vector<double> row_shares = {};

  friend bool operator==(const RowPopularity&, const RowPopularity&) = default;
};

RowPopularity UniformRows(int64_t rows);
// The k-th most popular row has a share ∝ k^−exponent. `sorted`: row 0 is the most popular, row 1
// the next, …; else they are strewn evenly.
RowPopularity ZipfRows(int64_t rows, double exponent, bool sorted);

double DistinctRows(const RowPopularity& popularity, double ids);

// The share of ids that name rows [begin, end) of a table of `rows`.
double ShareOfRows(const RowPopularity& popularity, int64_t rows, int64_t begin, int64_t end);

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_ROW_POPULARITY_H_
