#ifndef TESSERA_EMBEDDING_STORAGE_ROCKSDB_ROCKSDB_EMBEDDING_H_
#define TESSERA_EMBEDDING_STORAGE_ROCKSDB_ROCKSDB_EMBEDDING_H_
// Pooled and sequence tables whose rows lie in RocksDB, by raw 64-bit id (rocksdb_tables.h): a
// collection with room for a batch, of which num_embeddings is how many distinct ids a batch may
// have in a table. Poolings, weights and rules are those of any table, but for what RocksDbTables
// refuses.
//
//   auto store = std::make_shared<RocksDbStore>("/data/rows");
//   RocksDbEmbeddingBagCollection tables(
//       std::make_unique<EmbeddingBagCollection>(ctx, configs, options), store);
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "embedding/embedding_bag_collection.h"
#include "embedding/embedding_collection.h"
#include "embedding/storage/rocksdb/rocksdb_tables.h"
#include "runtime/tensor.h"

namespace tessera {

// Collection is EmbeddingBagCollection or EmbeddingCollection.
template <typename Collection>
class RocksDbCollection {
 public:
  // Rows that are not in the store start by this seed, and lie where InitRange says, or as init_fn
  // fills [1, D].
  RocksDbCollection(std::unique_ptr<Collection> collection, std::shared_ptr<RocksDbStore> store,
                    uint64_t seed = 0)
      : collection_(std::move(collection)), rows_(collection_->tables(), std::move(store), seed) {}

  // Like the collection's Forward, for any ids. Every training forward has its backward before the
  // next call. What a training batch learned is written by the next call, or by Flush: the store
  // lags behind by one batch.
  auto Forward(Context& ctx, const KeyedJaggedTensor& features) {
    return collection_->Forward(
        ctx, rows_.Load(ctx, collection_->tables(), features, ctx.tape() != nullptr));
  }

  // All that was learned is on the disk afterwards. REQUIRES: no update is pending.
  void Flush(Context& ctx) {
    rows_.WriteBack(ctx, collection_->tables());
    rows_.store().Sync();
  }
  // All of it, in a store of its own in a new folder.
  void Checkpoint(Context& ctx, const std::string& folder) {
    Flush(ctx);
    rows_.store().Checkpoint(folder);
  }
  // After Flush: fn(id, row and states [1, …] in host memory) for all ids of a table, ascending.
  void ForEachRow(int table,
                  const std::function<void(int64_t, const std::vector<Tensor>&)>& fn) const {
    rows_.ForEachRow(std::as_const(*collection_).tables(), table, fn);
  }

  Collection& collection() { return *collection_; }
  RocksDbStore& store() { return rows_.store(); }

 private:
  std::unique_ptr<Collection> collection_;
  RocksDbTables rows_;
};

using RocksDbEmbeddingBagCollection = RocksDbCollection<EmbeddingBagCollection>;
using RocksDbEmbeddingCollection = RocksDbCollection<EmbeddingCollection>;

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_ROCKSDB_ROCKSDB_EMBEDDING_H_
