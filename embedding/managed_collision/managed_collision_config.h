#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_CONFIG_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_CONFIG_H_
// Which module a table of raw ids has, as plain values: what a configuration file says.
//
//   growing    GrowingManagedCollisionModule of rows − shared_rows ids: the first rows are those of
//              ids without one
//   mch        MCHManagedCollisionModule: rows − mch_size − 1 ids, the row of those without one,
//              and mch_size rows that they share by hash instead
//   hash_zch   HashZchManagedCollisionModule of as many slots as rows
//
// Sizes and names are the table's: options that say them are not read.
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/managed_collision/growing_index.h"
#include "embedding/managed_collision/hash_zch_managed_collision_module.h"
#include "embedding/managed_collision/mch_managed_collision_module.h"
#include "runtime/context.h"

namespace tessera {

enum class AdmissionKind { kAll, kDynamic, kAverage, kProbabilistic };
std::string ToString(AdmissionKind kind);  // "all", "dynamic", …
std::string ToString(HashZchClock clock);  // "HOURS", "FORWARDS"

// admission_filter.h
struct AdmissionConfig {
  AdmissionKind kind = AdmissionKind::kAll;
  double skew_multiplier = 10;       // of kDynamic
  double per_id_probability = 0.01;  // of kProbabilistic
};

struct MchConfig {
  MchEviction eviction = MchEviction::kDistanceLfu;
  double decay_exponent = 1;
  AdmissionConfig admission = {};
  int64_t eviction_interval = 1;
  int64_t input_hash_size = 0;  // above 0: ids are hashed below it before all
  int64_t mch_size = 0;
};

using ManagedCollisionConfig = std::variant<GrowingIndexOptions, MchConfig, HashZchOptions>;
// "growing", "mch" or "hash_zch".
std::string KindOf(const ManagedCollisionConfig& config);

// Managed collision of one table.
struct ManagedTableConfig {
  ManagedCollisionConfig module;
  // Parts that a hash of the ids makes of the table (sharding/plan/hash_parts.h), each with a
  // module of its own for its rows; 0: one module for all, which cannot be on several ranks. Equal
  // parts do the same on any number of ranks.
  int64_t num_parts = 0;
};
// Configurations by the table's name; tables that are not named read row numbers.
using ManagedTableConfigs = std::map<std::string, ManagedTableConfig>;

// Bytes of state that a checkpoint has of a table of so many rows however few ids have come: the
// sketch of a growing index, MCH's list, the slots of hash ZCH.
int64_t BytesOfIdsAtStart(const ManagedTableConfig& config, int64_t rows);
// The most bytes that are known of ids, in host memory, once ids have all rows; without a history
// of MCH.
int64_t MostBytesOfIds(const ManagedTableConfig& config, int64_t rows);

// How many more ids have a row of their own than the other tensors of a module's StateDict say, by
// the one of this name, of `count` numbers, which `read` gives as i64; below 0 for free rows.
int64_t CountIdsIn(const std::string& name, int64_t count,
                   const std::function<std::vector<int64_t>()>& read);

// Throws Error for options of a growing index or of hash ZCH that the module refuses of a table of
// these rows.
void CheckManagedCollisionOptions(const ManagedCollisionConfig& config,
                                  const BaseEmbeddingConfig& table);

// Throws Error for options that the module refuses, and for a table with fewer than 2 rows.
std::shared_ptr<ManagedCollisionModule> MakeManagedCollisionModule(
    Context& ctx, const ManagedCollisionConfig& config, const BaseEmbeddingConfig& table);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_CONFIG_H_
