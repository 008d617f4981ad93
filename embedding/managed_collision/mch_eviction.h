#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_MCH_EVICTION_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_MCH_EVICTION_H_
// Scores by which ids are given up: how often they came, how long ago, or both
// (mch_managed_collision_module.h, growing_index.h).
#include <string>

namespace tessera {

enum class MchEviction { kLfu, kLru, kDistanceLfu };
std::string ToString(MchEviction eviction);  // "LFU", …

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_MCH_EVICTION_H_
