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

#include "embedding/config/embedding_configs.h"
#include "embedding/lookup/bounds_check_report.h"
#include "embedding/table/optimizer_state.h"
#include "embedding/table_caches.h"
#include "embedding/table_rows.h"
#include "embedding/update/update.h"
#include "runtime/autograd.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

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

  // Lets up to `forwards` training forwards run before the backward of an earlier one; they read
  // rows from before its update. Backward passes keep the order of the forwards. 0: none. Throws
  // Error for tables with a cache, for rules that act when a forward begins (they sweep whole
  // tables, or owe decay), and amid AccumulateForwards. Gradients of per-sample weights use the
  // rows as they are at the backward.
  void AllowForwardsAhead(int forwards);

  // Gradient accumulation: the next `forwards` training forwards, each with its backward, are one
  // step on the batch that they are together. Backward keeps ids and gradients of bags (or of ids,
  // where pooling is NONE), f32; that of the last updates the tables, with the bits of one forward
  // and backward of the joined batch (for each key, and rank, the bags of the first micro-batch,
  // then of the second, …), and waits for a device. iter() counts once. With 1 every forward is a
  // step. Each call drops what an unfinished step had kept. Call it before every step that has
  // several forwards. Throws Error below 1, between a training forward and its backward, and where
  // forwards may go ahead of a backward.
  void AccumulateForwards(int forwards);
  // Throws Error, beginning with `what`, unless each forward is a step. Modules that change rows,
  // or what ids mean, in every training forward call it.
  void CheckForwardIsStep(std::string_view what) const;

  // The tables' configurations; an index is a table's place among them.
  int num_tables() const;
  const std::vector<EmbeddingFeature>& features() const;
  const TableBatchedEmbeddingOptions& options() const;
  const BaseEmbeddingConfig& table(int index) const;
  const std::string& table_name(int index) const { return table(index).name; }
  PoolingType pooling(int index) const;
  // [E, D] of the table's data_type; shares the table's storage: writing changes the table. With a
  // cache: call caches().Flush before reading, Flush and Reset before writing. Of a growing table:
  // its rows in use.
  Tensor weight(int index) const;
  // Returns the weight as a variable. REQUIRES: the table's rule is Dense.
  Variable weight_variable(int index) const;
  // Returns what the last backward summed: touched rows, ascending, and their gradients. REQUIRES:
  // the table's rule is None.
  const RowGradients& row_gradients(int index) const;
  // Share the table's storage; of its state_type (counts: f32).
  std::vector<OptimizerState> optimizer_states(int index) const;
  // A table on disk has no tensor of all its rows: weight() and optimizer_states() throw Error for
  // it; rows() reads them wherever they lie.
  TableRows rows() const { return TableRows(state_); }
  // Caches of tables that have one.
  TableCaches caches() const { return TableCaches(state_); }

  // The rule that updates the table's rows, with its options and learning rate.
  const AnyRule& rule(int index) const;
  // lr times the table's lr_scale, for every table; lr itself, for one.
  void SetLearningRate(float lr);
  void SetLearningRate(int index, float lr);
  void SetLearningRateScale(int index, float scale);
  // Backward leaves a frozen table's rows and states as they are (and a Dense one gets no
  // gradient); its counter goes on, and gradients of per-sample weights flow. Rows that raw ids or
  // in-training pruning give to other ids start anew all the same.
  void SetFrozen(int index, bool frozen);
  bool frozen(int index) const;

  // Training forwards so far. Each table has a counter of its own, t of its rule, which advances
  // with it; set_iter sets all, or one table's, to 0 to 2^62.
  int64_t iter() const;
  int64_t iter(int index) const;
  void set_iter(int64_t iter);
  void set_iter(int index, int64_t iter);
  // The max_counter of a table's CounterRowwiseAdagrad, which training forwards renew; 1 with
  // another rule, where setting it does nothing. Without an index: the largest of all; sets all.
  float max_counter() const;
  float max_counter(int index) const;
  void set_max_counter(float max_counter);
  void set_max_counter(int index, float max_counter);
  // Returns the max_counter that these rules would take now: the largest count of a row, plus 1; 1
  // without such a table. Waits for the device.
  float LargestCounterSync(Context& ctx) const;
  // Findings of the bounds check in mode WARNING so far: how many; by feature, with examples. Both
  // wait for the device, which steps do not.
  int64_t bounds_check_warnings() const;
  BoundsCheckReport bounds_check_report() const;

 private:
  std::shared_ptr<internal::TablesState> state_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_BATCHED_EMBEDDING_H_
