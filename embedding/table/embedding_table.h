#ifndef TESSERA_EMBEDDING_TABLE_EMBEDDING_TABLE_H_
#define TESSERA_EMBEDDING_TABLE_EMBEDDING_TABLE_H_
// One table of a TableBatchedEmbedding with all that belongs to it.
#include <memory>
#include <string>
#include <vector>

#include "embedding/cache/row_cache.h"
#include "embedding/config/embedding_configs.h"
#include "embedding/table/optimizer_state.h"
#include "embedding/table/touched_rows.h"
#include "embedding/update/update.h"
#include "runtime/autograd.h"
#include "runtime/device/scratch_pool.h"
#include "runtime/virtual_memory.h"

namespace tessera {

class BlockIo;
class RowsOnUse;
struct RowsToStart;

namespace internal {

struct EmbeddingTable {
  BaseEmbeddingConfig config;
  PoolingType pooling = PoolingType::kSum;
  // [E, D] of config.data_type. Of a growing table, as the states: the rows in use, and after
  // StartRows those that may be (SettleSync).
  Tensor weight;
  std::vector<OptimizerState> states;  // in the order of the rule's States()
  Variable variable;                   // of `weight`; only where the rule is Dense
  RowGradients row_gradients;          // only where the rule is None
  int64_t iter = 0;                    // training forwards: t of the rule
  uint64_t rounding_seed = 0;
  uint64_t start_seed = 0;               // of a growing table's rows that come into use later
  std::vector<ReservedTensor> reserved;  // of a growing table: weight and states of all E rows
  // After StartRows, until somebody asks: number of rows in use, [1] i64, less some.
  Tensor unread_in_use;
  int64_t unread_less = 0;
  bool frozen = false;              // neither rows nor states change
  std::shared_ptr<RowCache> cache;  // of weight and states; only where the location asks for one
  std::shared_ptr<DiskTable> disk;  // where the rows lie on disk (table_on_disk.h)
  // Where a growing table has all its rows from the start: weight and states are its parts, of
  // which only started rows may be read.
  std::shared_ptr<RowsOnUse> on_use;
  std::shared_ptr<TouchedRows> touched;  // where somebody tracks what changes

  bool without_rule() const { return std::holds_alternative<None>(config.optimizer); }
  bool dense() const { return std::holds_alternative<Dense>(config.optimizer); }
  // Whether the cache has rows that the whole table lacks.
  bool cache_holds_updates() const { return cache != nullptr && cache->holds_updates(); }
  // Whether backward changes rows.
  bool updated() const { return !frozen && !dense() && !without_rule(); }
  // Whether both are blocks of columns of the same rows (or the same), which the same ids read.
  bool SharesRowsWith(const EmbeddingTable& other) const {
    return config.name == other.config.name &&
           config.place.first_row == other.config.place.first_row;
  }

  // These do what TableRows::SetInUse, StartRows and Reset promise.
  void SetRowsInUse(Context& ctx, int64_t rows);
  bool StartRows(Context& ctx, const RowsToStart& rows);
  // Shows the rows in use alone, for which it waits after StartRows.
  void SettleSync();
  void ShowRows(int64_t rows);  // of those reserved, started or not
  // Shows the most rows that may be in use with these. Returns false, and changes nothing, if it
  // shows too many already.
  bool ShowRowsToStart(Context& ctx, const RowsToStart& rows);
  void ResetRows(Context& ctx, const Tensor& ids, bool initial);
  // The seed of rows that start now (new_row_init.h).
  uint64_t SeedOfStarts(Context& ctx) const;

  // Sets the feature's pointers to the rows: in the cache, if there is one. A feature's output, ids
  // and bags stay as they are; an update has no features yet.
  void SetRows(LookupFeature& feature) const;
  UpdateTable ForUpdate() const;
  UpdateTable Whole() const;  // the table itself, without a cache's rows
  // All places in memory where the truth about a row may lie.
  void AppendWhole(ScratchVector<UpdateTable>& tables) const;
};

// Rows filled as the config says, states zero. Throws Error, with the table's name, for a config
// that makes no sense. `io`: what tables on disk share, made when the first asks for it.
EmbeddingTable MakeEmbeddingTable(Context& ctx, BaseEmbeddingConfig config, PoolingType pooling,
                                  std::shared_ptr<BlockIo>& io);

}  // namespace internal
}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_EMBEDDING_TABLE_H_
