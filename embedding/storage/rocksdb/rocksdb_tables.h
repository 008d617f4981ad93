#ifndef TESSERA_EMBEDDING_STORAGE_ROCKSDB_ROCKSDB_TABLES_H_
#define TESSERA_EMBEDDING_STORAGE_ROCKSDB_ROCKSDB_TABLES_H_
// The rows of one batch of tables that lie in a RocksDbStore. A TableBatchedEmbedding with room for
// a batch stands for them: distinct id u of a table's batch lies in its row u.
//
//   Load        distinct ids -> one read a table -> rows and states -> the batch with u for ids
//   …           lookup and update, as of any table
//   WriteBack   rows and states of the last training batch, all tables' in one write
//
//   record      the row, then each state of its rule, as they lie in memory
//
// Ids are any 64-bit numbers. An id that is not in the store starts with a row that depends on
// seed, table and id alone, and states of 0; it comes into the store with the first training batch
// that names it. The tables' counters of training forwards (Adam's t) are written with the rows, so
// a store that is opened again goes on where the last write left it.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "embedding/storage/rocksdb/rocksdb_store.h"
#include "embedding/table_batched_embedding.h"
#include "runtime/tensor.h"

namespace tessera {

class RocksDbTables {
 public:
  // Takes the counters that the store has. Throws Error for tables with a cache, an index_remap,
  // rounding by chance or a rule that looks at whole tables, and a feature that two tables read:
  // rows of a batch lie in other places each time.
  RocksDbTables(TableBatchedEmbedding& tables, std::shared_ptr<RocksDbStore> store, uint64_t seed);

  // Writes the last training batch back, then puts the rows of this one in their places. The same
  // KJT with these, i64; keys that no table reads keep their numbers. Waits for a device. Throws
  // Error between a training forward and its backward, for a batch with more distinct ids than a
  // table has rows, and for records of another table's size.
  KeyedJaggedTensor Load(Context& ctx, TableBatchedEmbedding& tables,
                         const KeyedJaggedTensor& features, bool training);
  void WriteBack(Context& ctx, TableBatchedEmbedding& tables);

  RocksDbStore& store() { return *store_; }
  const RocksDbStore& store() const { return *store_; }

  // fn(id, row and states [1, …] in host memory) for all ids of a table, ascending.
  void ForEachRow(const TableBatchedEmbedding& tables, int table,
                  const std::function<void(int64_t, const std::vector<Tensor>&)>& fn) const;

 private:
  // Records of a table's ids, one after another.
  struct Rows {
    std::vector<int64_t> ids;
    std::vector<char> records;
  };
  Rows Read(const TableBatchedEmbedding& tables, int table, std::vector<int64_t> ids);
  void Start(const TableBatchedEmbedding& tables, int table, int64_t id, char* record);

  std::shared_ptr<RocksDbStore> store_;
  uint64_t seed_;
  Context host_;                             // rows that start are made here
  std::vector<std::vector<int64_t>> dirty_;  // ids of the last training batch, by table
  bool trained_ = false;                     // a training batch was loaded since the last write
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_ROCKSDB_ROCKSDB_TABLES_H_
