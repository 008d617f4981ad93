#ifndef TESSERA_EMBEDDING_TABLE_BATCHED_EMBEDDING_H_
#define TESSERA_EMBEDDING_TABLE_BATCHED_EMBEDDING_H_
// Many tables behind one call, forward and backward: what FBGEMM's
// SplitTableBatchedEmbeddingBagsCodegen is. Tables are no autograd variables: backward applies each
// table's rule to the rows that the batch named, and keeps no gradient. (A table with the rule
// Dense is a variable, and gets a dense gradient, f32 whatever its rows are.) The collections are
// built on it.
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "embedding/cache/row_cache.h"
#include "embedding/config/embedding_configs.h"
#include "embedding/lookup/bounds_check_report.h"
#include "embedding/storage/disk_table.h"
#include "embedding/table/optimizer_state.h"
#include "embedding/table/touched_rows.h"
#include "embedding/update/update.h"
#include "runtime/autograd.h"
#include "runtime/named_parameter.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

namespace internal {
struct TablesState;
}

struct EmbeddingOutputs {
  Variable pooled;                  // undefined if every table has pooling NONE
  std::vector<Variable> sequences;  // of the features whose tables have pooling NONE, in order
};

class TableBatchedEmbedding {
 public:
  // Tables are filled as their configs say, in order. poolings: one a table. Throws Error for
  // repeated table names, tables without rows or dim, types or options that make no sense, features
  // of unknown tables, weights for sequences, and a key of a GlobalDecayRowwiseAdagrad table that
  // another table reads too.
  TableBatchedEmbedding(Context& ctx, std::vector<BaseEmbeddingConfig> tables,
                        std::vector<PoolingType> poolings, std::vector<EmbeddingFeature> features,
                        TableBatchedEmbeddingOptions options = {});

  // The pooled rows of all features side by side, [B, ΣD], of options' output type. A KJT with
  // inverse indices (TorchRec's variable batch) gives [B_full, ΣD]: row b of feature f is that of
  // its bag inverse[f][b]. One with a batch of its own for each key and rank, without inverse
  // indices, gives FBGEMM's flat order: for each rank, each feature, each of its bags from that
  // rank, D elements.
  //
  // While a tape records, this is a training forward: it advances iter(), also for an empty batch,
  // and the tape's backward updates the tables. Another training forward before that (or before the
  // tape is gone) is an error. KJT weights, taken if `weighted`, get a gradient if they require
  // one. REQUIRES: no pooling NONE.
  Variable Forward(Context& ctx, const KeyedJaggedTensor& kjt);
  // The rows of every id, one [N_f, D] a feature; inverse indices are not looked at. REQUIRES:
  // pooling NONE for all tables. Otherwise as Forward.
  std::vector<Variable> ForwardSequence(Context& ctx, const KeyedJaggedTensor& kjt);
  // Both in one call, for tables of any pooling.
  EmbeddingOutputs ForwardAll(Context& ctx, const KeyedJaggedTensor& kjt);

  // So many training forwards may be made before the backward of one that came earlier: their rows
  // are those from before its update. Backward passes keep the order of the forwards. 0 again:
  // none. Throws Error for tables with a cache, and rules that act when a forward begins (they
  // sweep whole tables, or owe decay). Weights of ids that need a gradient get it of the rows as
  // they are then.
  void AllowForwardsAhead(int forwards);

  // Gradient accumulation: the next `forwards` training forwards, each with its backward, are one
  // step on the batch that they are together. Backward keeps ids and gradients of bags (or of ids,
  // where pooling is NONE), f32; that of the last updates the tables, with the bits of one forward
  // and backward of the joined batch (for each key, and rank, the bags of the first micro-batch,
  // then of the second, …), and waits for a device. iter() counts once. 1 again: every forward is
  // a step. Either forgets what was kept of a step that did not end. To be called before each step
  // of several. Throws Error below 1, and where forwards may go ahead of a backward.
  void AccumulateForwards(int forwards);
  // Throws Error, beginning with `what`, unless each forward is a step: for what changes rows or
  // their meaning with every training forward.
  void CheckForwardIsStep(std::string_view what) const;

  // These concern tables with a cache (locations kManagedCaching and kDisk); they do nothing for
  // others.
  //
  // Ahead of a forward of the same `kjt` (the same tensor of ids): checks its bounds and brings its
  // rows into the caches (cache/row_cache.h), any number of batches before they are used. Training
  // forwards then come in the order of the prefetches. On a context of its own it runs beside the
  // training of earlier batches: that context has to wait for the one that made the ids. A forward
  // of a batch that was not prefetched does it itself.
  void Prefetch(Context& ctx, const KeyedJaggedTensor& kjt);
  // Forgets the batches that were prefetched and wait for their forward.
  void ForgetPrefetched();
  // weight() and optimizer_states() hold the truth afterwards. REQUIRES: no update is pending.
  void Flush(Context& ctx);
  // Forgets what the caches hold: after Flush, before weight() or optimizer_states() are written.
  // Throws Error while a prefetched batch waits for its forward or update.
  void ResetCaches(Context& ctx);
  // All 0 for a table without a cache. Waits for the device.
  CacheStats CacheStatsSync(Context& ctx, int index) const;
  int64_t cache_lines(int index) const;  // rows that its cache has room for; 0 without one

  int num_tables() const;
  const std::vector<EmbeddingFeature>& features() const;
  const TableBatchedEmbeddingOptions& options() const;
  const BaseEmbeddingConfig& table(int index) const;
  const std::string& table_name(int index) const { return table(index).name; }
  PoolingType pooling(int index) const;
  // [E, D] of the table's data_type; shares the table's storage: writing changes the table. Of a
  // table with a cache: see Flush and ResetCaches. Of a growing table: its rows in use.
  // embedding/lookup/row_access.h reads and writes single rows.
  Tensor weight(int index) const;
  // Returns the weight as a variable. REQUIRES: the table's rule is Dense.
  Variable weight_variable(int index) const;
  // Returns what the last backward summed: touched rows, ascending, and their gradients. REQUIRES:
  // the table's rule is None.
  const RowGradients& row_gradients(int index) const;
  // Share the table's storage; of its state_type (counts: f32).
  std::vector<OptimizerState> optimizer_states(int index) const;
  // A table on disk has neither of these, and throws Error. Wherever a table lies, its weights
  // (part 0, called "weight") and states (parts 1, …): as tensors, or, on disk, as a shape with
  // `stored`. What is said there of Flush and ResetCaches holds here.
  int num_parts(int index) const;
  NamedTensor part(int index, int part) const;
  // Rows `ids` ([n], i32 or i64) of a part, [n, …] of its type, on ctx's device. REQUIRES: they
  // name rows.
  Tensor TakeRows(Context& ctx, int index, int part, const Tensor& ids) const;
  // All 0 for a table that does not lie on disk.
  DiskStats disk_stats(int index) const;
  // The rows `ids` ([n], i32 or i64) become 0, or what new rows of the table start with (an init_fn
  // is given n rows; in a growing table one at a time), and their states 0. Throws Error for an id
  // that names no row (waits for the device).
  enum class ResetTo { kZero, kInitial };
  void ResetRows(Context& ctx, int index, const Tensor& ids, ResetTo to = ResetTo::kZero);

  // Rows of a growing table that lookups and updates find, that weight() shows and checkpoints
  // keep; of another, all. New ones hold what new rows of the table start with, as function of
  // iter(index) too (embedding/table/new_row_init.h), their states 0. To be called before the
  // forward that names them, and before a state dict with as many rows is loaded. Throws Error for
  // a table that does not grow, more rows than num_embeddings, and fewer than there are if they are
  // tracked (TrackRows).
  int64_t rows_in_use(int index) const;
  void SetRowsInUse(Context& ctx, int index, int64_t rows);

  // The table's rows that change from now on, which embedding/deltas/model_delta_tracker.h reads;
  // the same object for all who ask.
  std::shared_ptr<TouchedRows> TrackRows(Context& ctx, int index);

  const AnyRule& rule(int index) const;
  // lr times the table's lr_scale, for every table; lr itself, for one.
  void SetLearningRate(float lr);
  void SetLearningRate(int index, float lr);
  void SetLearningRateScale(int index, float scale);
  // A frozen table keeps rows and states as they are (and a Dense one gets no gradient); its
  // counter goes on, and gradients of per-sample weights flow.
  void SetFrozen(int index, bool frozen);
  bool frozen(int index) const;

  // Training forwards so far. Each table has a counter of its own, t of its rule, which advances
  // with it; set_iter sets all, or one table's.
  int64_t iter() const;
  int64_t iter(int index) const;
  void set_iter(int64_t iter);
  void set_iter(int index, int64_t iter);
  // The largest of the CounterRowwiseAdagrad rules' max_counter, which training forwards renew;
  // 1 without such a table. Setting it sets all of them, as after a checkpoint.
  float max_counter() const;
  void set_max_counter(float max_counter);
  // Findings of the bounds check in mode WARNING so far: how many; by feature, with examples. Both
  // wait for the device, which steps do not.
  int64_t bounds_check_warnings() const;
  BoundsCheckReport bounds_check_report() const;

 private:
  std::shared_ptr<internal::TablesState> state_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_BATCHED_EMBEDDING_H_
