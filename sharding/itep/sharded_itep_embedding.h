#ifndef TESSERA_SHARDING_ITEP_SHARDED_ITEP_EMBEDDING_H_
#define TESSERA_SHARDING_ITEP_SHARDED_ITEP_EMBEDDING_H_
// Pruning in front of sharded tables of any plan (TorchRec's ShardedITEPEmbeddingBagCollection).
//
//   own ids -> rows of whole tables (a module on every rank) -> sharded lookup
//
// Every rank has the whole module: 16 bytes an id. Where it counts, ids of all ranks are gathered (one
// training forward of 39); so the modules stay alike without ever being exchanged, and give rows as
// one process would on all ranks' batches. (TorchRec cuts ids and rows into one block a rank, in which
// ids can get rows of their own block alone.)
//
// A row that is handed on starts anew on the rank that has it, by random numbers that depend on the
// shard.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "embedding/itep/itep_steps.h"
#include "sharding/sharded_embedding_bag_collection.h"
#include "sharding/sharded_embedding_collection.h"

namespace tessera {

namespace internal {
// The ids of all ranks, rank by rank: i64. Every rank calls.
Tensor GatherIds(Context& ctx, Communicator& comm, const Tensor& ids);
// Resets rows (i64, of the whole table) where this rank has them. The same ctx.random() on all ranks
// stays the same.
void ResetShardedRows(Context& ctx, ShardedTables& tables, int table, const Tensor& rows);
}  // namespace internal

// Collection is ShardedEmbeddingBagCollection or ShardedEmbeddingCollection.
template <typename Collection>
class ShardedItepCollection {
 public:
  // Throws Error unless the module has the collection's tables. REQUIRES: the same module on all
  // ranks.
  ShardedItepCollection(std::unique_ptr<Collection> collection,
                        std::unique_ptr<GenericITEPModule> module)
      : collection_(std::move(collection)), steps_(std::move(module), tables().tables()) {
    steps_.module().CountAll([&comm = tables().comm()](Context& ctx, const Tensor& ids) {
      return internal::GatherIds(ctx, comm, ids);
    });
  }
  ShardedItepCollection(const ShardedItepCollection&) = delete;
  ShardedItepCollection& operator=(const ShardedItepCollection&) = delete;

  // As the collection's, and as ItepCollection's. Every rank calls.
  auto Forward(Context& ctx, const KeyedJaggedTensor& features) {
    return collection_->Forward(ctx, steps_.Forward(ctx, features, tables().options().bounds_check,
                                                    [&](int table, const Tensor& rows) {
                                                      internal::ResetShardedRows(ctx, tables(),
                                                                                 table, rows);
                                                    }));
  }

  Collection& collection() { return *collection_; }
  GenericITEPModule& itep_module() { return steps_.module(); }
  int64_t iter() const { return steps_.iter(); }

  // As ItepCollection's; the same on every rank, whatever their number.
  std::vector<NamedTensor> StateDict(Context& ctx, const std::string& prefix = "") const {
    return steps_.StateDict(ctx, prefix);
  }
  void LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                     const std::string& prefix = "") {
    steps_.LoadStateDict(ctx, tensors, prefix);
  }

 private:
  ShardedTables& tables() { return collection_->tables(); }

  std::unique_ptr<Collection> collection_;
  internal::ItepSteps steps_;
};

using ShardedITEPEmbeddingBagCollection = ShardedItepCollection<ShardedEmbeddingBagCollection>;
using ShardedITEPEmbeddingCollection = ShardedItepCollection<ShardedEmbeddingCollection>;

}  // namespace tessera
#endif  // TESSERA_SHARDING_ITEP_SHARDED_ITEP_EMBEDDING_H_
