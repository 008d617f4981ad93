#ifndef TESSERA_PLANNER_MODEL_AT_H_
#define TESSERA_PLANNER_MODEL_AT_H_
// The number of a rank, table or shard as the index of a vector.
#include <cstddef>

namespace tessera::internal {

// REQUIRES: i >= 0.
inline size_t At(int i) { return static_cast<size_t>(i); }

}  // namespace tessera::internal
#endif  // TESSERA_PLANNER_MODEL_AT_H_
