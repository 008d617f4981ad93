#include "planner/step_model/cache_misses.h"

#include <cmath>

#include "embedding/config/cache_size.h"

namespace tessera {
namespace {

double UsesOfRow(const RowGroup& group, double ids) { return group.share * ids / group.rows; }

// The distinct rows of so many steps.
double Distinct(const RowPopularity& popularity, double ids, double steps) {
  double rows = 0;
  for (const RowGroup& g : popularity.groups)
    rows -= g.rows * std::expm1(-UsesOfRow(g, ids) * steps);
  return rows;
}

// The steps whose distinct rows fill the cache.
double StepsHeld(const RowPopularity& popularity, double ids, double lines) {
  double low = 0, high = 1;
  while (Distinct(popularity, ids, high) < lines && high < 1e15) high *= 2;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (Distinct(popularity, ids, middle) < lines ? low : high) = middle;
  }
  return high;
}

}  // namespace

double CacheMisses(const RowPopularity& popularity, double ids, double lines) {
  double rows = 0;
  for (const RowGroup& g : popularity.groups) rows += g.rows;
  if (ids <= 0 || lines >= rows) return 0;
  const double steps = StepsHeld(popularity, ids, lines);
  double misses = 0;
  for (const RowGroup& g : popularity.groups) {
    const double uses = UsesOfRow(g, ids);
    misses -= g.rows * std::expm1(-uses) * std::exp(-uses * steps);
  }
  return misses;
}

double LinesOfPart(const StepTable& table, double rows, double columns) {
  const double line =
      columns * static_cast<double>(SizeOf(table.row_type)) + KeptBesideRow(table, columns);
  return static_cast<double>(NumCacheLines(table.cache, static_cast<int64_t>(rows),
                                           static_cast<int64_t>(std::ceil(line))));
}

double FeatureMisses(const StepTable& table, const StepFeature& feature, double rows,
                     double columns, double ids) {
  const double lines = LinesOfPart(table, rows, columns);
  if (ids == 0 || lines >= rows) return 0;
  double of_table = 0;
  for (const StepFeature& f : table.features) of_table += f.ids;
  // The popularity is that of the whole table, whose groups the part has an even share of.
  const double share = rows / static_cast<double>(table.rows),
               own_lines = lines * feature.ids / of_table;
  return share * CacheMisses(feature.popularity, ids / share, own_lines / share);
}

}  // namespace tessera
