#ifndef TESSERA_BENCH_EMBEDDING_SHAPE_AXES_H_
#define TESSERA_BENCH_EMBEDDING_SHAPE_AXES_H_
// The axes that topics over whole tables have in common, and the shape that a point of them is.
//
//   dim 128 | rows 1M, or criteo:1M: of Criteo's 26 features, at most a million | tables 8, or a
//   user's (table_file.h), which have rows and dims | batch 4096 | pooling 20 | skew uniform |
//   mode sum | weighted no | ids drawn | remap none | row-type f32 | output-type f32 |
//   state-type f32
//
// and those of machine_axes.h.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "bench/embedding/workload.h"
#include "bench/harness/topic.h"

namespace tessera::bench {

// The types that a topic has as axes.
struct ShapeTypes {
  bool rows = true, outputs = false, states = false;
};
// files: whether ids and tables may be a user's.
std::vector<Axis> ShapeAxes(ShapeTypes types, bool files = true);

// Criteo's tables of at most `cap` rows, an id a bag.
PointValues CriteoValues(const std::string& cap, const std::string& dim, const std::string& batch);

// Calls of at most so many ids find caches as the calls before left them: what is timed is the
// call.
inline constexpr int64_t kSmallCall = 4096;
// The text of Topic::small_calls, which ends with `which`: "calls of at most 4096 ids with --api
// module".
std::string SmallCalls(const std::string& which);

PoolingType ParsePooling(const std::string& mode);

// All but --state-type, which a topic with rules reads of those that have states. REQUIRES: a point
// of a topic that has ShapeAxes() among its axes.
Shape ShapeOf(const Point& point);
// Bytes of its tables' rows, each with so many bytes beside it as a row of its dim has.
double TableBytes(const Point& point,
                  const std::function<int64_t(int64_t dim)>& beside_a_row = nullptr);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_EMBEDDING_SHAPE_AXES_H_
