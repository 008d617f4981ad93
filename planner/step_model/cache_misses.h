#ifndef TESSERA_PLANNER_STEP_MODEL_CACHE_MISSES_H_
#define TESSERA_PLANNER_STEP_MODEL_CACHE_MISSES_H_
// How many rows a step asks for that a cache of rows lacks (Che's approximation of an LRU): a cache
// of L lines holds what was used in the last T steps, where
//
//   L = Σ over groups of rows   rows · (1 − exp(−uses a step of such a row · T))
//
// so a step misses rows · (1 − exp(−uses)) · exp(−uses · T) rows of each group.
#include "planner/step_model/row_popularity.h"
#include "planner/step_model/step_load.h"

namespace tessera {

// Takes the ids that a step asks for in all. 0 for a cache with a line for every row.
double CacheMisses(const RowPopularity& popularity, double ids, double lines);

// Lines of the cache in front of a part of a table that has so many rows and columns.
double LinesOfPart(const StepTable& table, double rows, double columns);

// The misses of a feature at the cache of such a part, which a step asks for so many ids in all.
// Each feature of the table has lines by its ids. REQUIRES: the feature is one of the table's.
double FeatureMisses(const StepTable& table, const StepFeature& feature, double rows,
                     double columns, double ids);

}  // namespace tessera
#endif  // TESSERA_PLANNER_STEP_MODEL_CACHE_MISSES_H_
