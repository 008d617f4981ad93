#ifndef TESSERA_SHARDING_MANAGED_COLLISION_SHARDED_MANAGED_COLLISION_MODULES_H_
#define TESSERA_SHARDING_MANAGED_COLLISION_SHARDED_MANAGED_COLLISION_MODULES_H_
// Remaps raw ids on the rank that has their rows: the modules of this rank's parts of tables
// (sharding/plan/hash_parts.h), in the middle of a forward of sharded tables.
//
//   raw ids -> input_dist, by part -> Remap -> evicted rows start anew -> lookup -> output_dist
//                                        \-> ReturnRows, if asked for
//
// Ids travel once. A part sees the ids of all ranks as those of one batch, rank by rank, so what
// its module does, does not depend on the number of ranks.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "embedding/managed_collision/managed_collision_collection.h"
#include "runtime/tensor.h"
#include "sharding/exchange/input_dist.h"
#include "sharding/managed_collision/partitioned_managed_collision_module.h"

namespace tessera {

// A table whose ids are remapped: in how many parts, and what makes the module of one.
struct ShardedManagedTable {
  std::string table;
  int64_t num_parts = 1;
  MakePartModule make;
};

// ShardingOptions::num_parts of `tables`, of which `managed` are remapped. Throws Error for a
// managed table that is none of them, one that is pruned, and a feature that two managed tables
// read.
std::vector<int64_t> CheckedNumParts(const std::vector<ShardedManagedTable>& managed,
                                     const std::vector<BaseEmbeddingConfig>& tables);

class ShardedManagedCollisionModules {
 public:
  // layout: of `tables` with their CheckedNumParts. REQUIRES: the same ctx.random() on all ranks.
  ShardedManagedCollisionModules(Context& ctx, const std::vector<ShardedManagedTable>& managed,
                                 const std::vector<BaseEmbeddingConfig>& tables,
                                 const DistLayout& layout, int rank);

  // Rows of this rank's shards in the place of the raw ids that came to it. While a tape records,
  // the modules train.
  void Remap(Context& ctx, InputDist& input);
  // Calls fn(table, rows) for rows of this rank's shards that went to other ids since the last
  // call, part by part, with the part's random numbers as ctx.random(): what has to be reset before
  // the next lookup.
  void Evict(Context& ctx,
             const std::function<void(const std::string& table, const Tensor& rows)>& fn);

  // Managed tables that this rank has parts of, in order, with the modules of its parts.
  const std::vector<std::string>& tables() const { return tables_; }
  // Throws Error if this rank has no part of the table.
  PartitionedManagedCollisionModule& module(const std::string& table) const;

  // State of this rank's parts, as
  // "<prefix>_managed_collision_modules.<table>._parts.<part>.<name>".
  std::vector<NamedTensor> StateDict(Context& ctx, const std::string& prefix = "") const;
  // Loads tensors of StateDict; a part that refuses its own leaves those of later ones unread.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                     const std::string& prefix = "");

 private:
  std::vector<std::string> tables_;
  std::vector<std::shared_ptr<PartitionedManagedCollisionModule>> modules_;  // one a table
  std::unique_ptr<ManagedCollisionCollection> collection_;  // of them; reads the rank's streams
};

// Rows of whole tables, i64, in the place of the raw ids of `kjt`, after Remap of the same input on
// every rank. Keys that no managed table reads keep their numbers. features: which keys the tables
// read, as ShardedTables::features. REQUIRES: layout and features outlive the wait.
Awaitable<KeyedJaggedTensor> StartReturnRows(Context& ctx, Communicator& comm,
                                             const DistLayout& layout,
                                             const std::vector<EmbeddingFeature>& features,
                                             const InputDist& input, const KeyedJaggedTensor& kjt);

}  // namespace tessera
#endif  // TESSERA_SHARDING_MANAGED_COLLISION_SHARDED_MANAGED_COLLISION_MODULES_H_
