#ifndef TESSERA_BENCH_EMBEDDING_GROWTH_SUITE_H_
#define TESSERA_BENCH_EMBEDDING_GROWTH_SUITE_H_
// How the time of an id changes as calls grow: it should be flat within 15 %. From 10^4 to 10^7 ids
// a batch over the same tables; and from 1 to 2,000 tables that share the same rows and ids among
// them.
#include "bench/harness/topic.h"

namespace tessera::bench {

// For topics with ShapeAxes() (shape_axes.h).
Suite GrowthSuite();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_GROWTH_SUITE_H_
