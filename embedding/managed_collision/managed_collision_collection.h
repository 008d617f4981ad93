#ifndef TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_COLLECTION_H_
#define TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_COLLECTION_H_
// Replaces the raw ids of a KeyedJaggedTensor by rows, with one ManagedCollisionModule a table
// (TorchRec's class of this name).
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "embedding/config/embedding_configs.h"
#include "embedding/managed_collision/managed_collision_module.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

// The module of a table.
struct ManagedTable {
  std::string table;
  std::shared_ptr<ManagedCollisionModule> module;
};

// Rows of a table that went to other ids, [k] i64.
struct EvictedRows {
  std::string table;
  Tensor rows;
};

class ManagedCollisionCollection {
 public:
  // Throws Error for a table without a module or a module without a table, a table with another
  // number of rows than its module's output_size, and a feature that two tables read: its ids can
  // become the rows of one.
  ManagedCollisionCollection(std::vector<ManagedTable> modules,
                             std::vector<BaseEmbeddingConfig> configs);

  // Returns the KJT with rows in place of raw ids, i64. Keys that no table reads keep their
  // numbers. While a tape records, the modules train. Throws Error for a key that is missing.
  KeyedJaggedTensor Forward(Context& ctx, const KeyedJaggedTensor& features);
  // Returns, for each table in order, the rows that must be reset before the next lookup.
  std::vector<EvictedRows> Evict(Context& ctx);

  const std::vector<BaseEmbeddingConfig>& configs() const { return configs_; }
  // Throws Error if there is no such table.
  ManagedCollisionModule& module(const std::string& table);

  // State of each module, as "<prefix>_managed_collision_modules.<table>.<name>".
  std::vector<NamedTensor> StateDict(Context& ctx, const std::string& prefix = "") const;
  // Loads tensors of StateDict. A module that refuses its own leaves those of later tables unread.
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                     const std::string& prefix = "");

 private:
  std::vector<BaseEmbeddingConfig> configs_;
  std::vector<std::shared_ptr<ManagedCollisionModule>> modules_;  // one a config
};

namespace internal {
// "<prefix>_managed_collision_modules.<table>.", before the names of a module's state.
std::string StatePrefix(const std::string& prefix, const std::string& table);
// Throws Error for a feature that two of these tables read.
void CheckReadOnce(const std::vector<BaseEmbeddingConfig>& configs);
}  // namespace internal

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_MANAGED_COLLISION_MANAGED_COLLISION_COLLECTION_H_
