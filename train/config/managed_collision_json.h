#ifndef TESSERA_TRAIN_CONFIG_MANAGED_COLLISION_JSON_H_
#define TESSERA_TRAIN_CONFIG_MANAGED_COLLISION_JSON_H_
// The JSON of a table's managed collision (how raw ids find their rows); all but "kind" may be left
// out:
//
//   {"kind": "growing", "eviction": "LRU" | "LFU" | "DISTANCE_LFU", "admit_after", "sketch_bytes",
//    "shared_rows"}
//   {"kind": "mch", "eviction": as growing, "decay_exponent", "eviction_interval",
//    "admission": {"kind": "all" | "average"} | {"kind": "dynamic", "skew_multiplier"} |
//                 {"kind": "probabilistic", "per_id_probability"},
//    "input_hash_size", "mch_size"}
//   {"kind": "hash_zch", "eviction": "NONE" | "SINGLE_TTL_EVICTION" | "PER_FEATURE_TTL_EVICTION" |
//    "LRU_EVICTION", "single_ttl", "per_feature_ttl": [...], "clock": "FORWARDS" | "HOURS",
//    "total_num_buckets", "max_probe", "input_hash_size", "opt_in_prob", "percent_reserved_slots",
//    "disable_fallback"}
//
// and each "num_parts" (ManagedTableConfig), without which ids are in no parts and on one rank.
#include <optional>
#include <string>

#include "embedding/managed_collision/managed_collision_config.h"
#include "runtime/json/json_object.h"

namespace tessera::internal {

// Nullopt for null: the table reads row numbers. Throws Error, or adds to `problems`, for an
// unknown kind, or key of a kind, listing those there are, and for a number out of its range.
std::optional<ManagedTableConfig> ManagedCollisionFromJson(const Json& value,
                                                           const std::string& where,
                                                           JsonProblems* problems = nullptr);

// Every option of the kind.
Json ManagedCollisionToJson(const ManagedTableConfig& config);

// Throws Error where a table is too small for what its ids ask of it, or not of equal parts, and
// for options that its features do not fit.
void CheckManagedTable(const ManagedTableConfig& config, const BaseEmbeddingConfig& table,
                       const std::string& where);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_MANAGED_COLLISION_JSON_H_
