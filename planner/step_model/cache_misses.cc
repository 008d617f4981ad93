#include "planner/step_model/cache_misses.h"

#include <cmath>

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

double FeatureMisses(const StepTable& table, const StepFeature& feature, double ranks) {
  if (feature.ids == 0) return 0;
  double ids = 0;
  for (const StepFeature& f : table.features) ids += f.ids;
  const double lines = table.cache_lines * static_cast<double>(table.rows);
  return CacheMisses(feature.popularity, feature.ids * ranks, lines * feature.ids / ids);
}

}  // namespace tessera
