#ifndef TESSERA_SHARDING_ITEP_SHARDED_ITEP_EMBEDDING_H_
#define TESSERA_SHARDING_ITEP_SHARDED_ITEP_EMBEDDING_H_
// Pruning in front of sharded tables of any plan (TorchRec's ShardedITEPEmbeddingBagCollection).
//
//   own ids -> rows of whole tables (a module on every rank) -> sharded lookup
//
// Every rank has the whole module: 16 bytes an id. Where it counts, ids of all ranks are gathered
// (later one training forward in 39); so the modules stay alike without ever being exchanged, and
// give rows as one process would on all ranks' batches. (TorchRec cuts ids and rows into one block
// a rank, in which ids can get rows of their own block alone.)
//
// A row that is handed on starts anew on the rank that has it, by random numbers that depend on the
// shard.
#include <memory>
#include <utility>

#include "embedding/itep/itep_steps.h"
#include "runtime/tensor.h"
#include "sharding/sharded_embedding_bag_collection.h"
#include "sharding/sharded_embedding_collection.h"

namespace tessera {

namespace internal {
// The ids of all ranks, rank by rank: i64. Every rank calls.
Tensor GatherIds(Context& ctx, Communicator& comm, const Tensor& ids);
// Resets rows (i64, of the whole table) where this rank has them. The same ctx.random() on all
// ranks stays the same.
void ResetShardedRows(Context& ctx, ShardedTables& tables, int table, const Tensor& rows);
}  // namespace internal

// Collection is ShardedEmbeddingBagCollection or ShardedEmbeddingCollection.
template <typename Collection>
class ShardedItepCollection : public internal::ItepFront<Collection> {
 public:
  // Throws Error unless the module has the collection's tables. REQUIRES: the same module on all
  // ranks.
  ShardedItepCollection(std::unique_ptr<Collection> collection,
                        std::unique_ptr<GenericITEPModule> module)
      : internal::ItepFront<Collection>(std::move(collection), std::move(module),
                                        [](Collection& c) { return c.tables().tables(); }) {
    this->itep_module().CountAll([&comm = tables().comm()](Context& ctx, const Tensor& ids) {
      return internal::GatherIds(ctx, comm, ids);
    });
  }
  ShardedItepCollection(const ShardedItepCollection&) = delete;
  ShardedItepCollection& operator=(const ShardedItepCollection&) = delete;

  // Like the collection's and ItepCollection's Forward. Every rank calls. The state is the same on
  // all, whatever their number.
  auto Forward(Context& ctx, const KeyedJaggedTensor& features) {
    if (ctx.tape() != nullptr) tables().CheckForwardIsStep("ITEP");
    const auto reset = [&](int table, const Tensor& rows) {
      internal::ResetShardedRows(ctx, tables(), table, rows);
    };
    return this->collection().Forward(
        ctx, this->steps_.Forward(ctx, features, tables().options().bounds_check, reset));
  }

 private:
  ShardedTables& tables() { return this->collection().tables(); }
};

using ShardedITEPEmbeddingBagCollection = ShardedItepCollection<ShardedEmbeddingBagCollection>;
using ShardedITEPEmbeddingCollection = ShardedItepCollection<ShardedEmbeddingCollection>;

}  // namespace tessera
#endif  // TESSERA_SHARDING_ITEP_SHARDED_ITEP_EMBEDDING_H_
