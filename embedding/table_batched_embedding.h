#ifndef TESSERA_EMBEDDING_TABLE_BATCHED_EMBEDDING_H_
#define TESSERA_EMBEDDING_TABLE_BATCHED_EMBEDDING_H_
// Many tables behind one call, forward and backward: what FBGEMM's
// SplitTableBatchedEmbeddingBagsCodegen is. Tables are no autograd variables: backward applies each
// table's rule to the rows that the batch named, and keeps no gradient. (A table with the rule
// Dense is a variable, and gets a dense gradient.) The collections are built on it.
#include <memory>
#include <string>
#include <vector>

#include "embedding/embedding_configs.h"
#include "embedding/update.h"
#include "runtime/autograd.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

// One column block of the output (pooled) or one sequence: which table, and which key of the KJT it
// reads.
struct EmbeddingFeature {
  std::string name;
  int table = 0;
  std::string key;
};

struct TableBatchedEmbeddingOptions {
  bool weighted = false;
  BoundsCheckMode bounds_check = BoundsCheckMode::kFatal;
  float max_gradient =
      0;  // above 0: every element of an incoming gradient is clamped to ± this before all else
  // One a feature, or empty (all): per-sample weights of a feature with false get the gradient 0.
  std::vector<bool> feature_requires_grad = {};
};

// One thing a rule remembers of one table, [E, D] or [E], f32; shares the table's storage.
struct OptimizerState {
  std::string name;
  Tensor tensor;
};

class TableBatchedEmbedding {
 public:
  // Tables are filled as their configs say, in order. poolings: one a table; NONE for all or for
  // none. Throws Error for repeated table names, tables without rows or dim, types other than f32,
  // features of unknown tables.
  TableBatchedEmbedding(Context& ctx, std::vector<BaseEmbeddingConfig> tables,
                        std::vector<PoolingType> poolings, std::vector<EmbeddingFeature> features,
                        TableBatchedEmbeddingOptions options = {});

  // The pooled rows of all features side by side, [B, ΣD]. While a tape records, this is a training
  // forward: it advances iter(), also for an empty batch, and the tape's backward updates the
  // tables. Another training forward before that (or before the tape is gone) is an error. KJT
  // weights, taken if `weighted`, get a gradient if they require one.
  Variable Forward(Context& ctx, const KeyedJaggedTensor& kjt);
  // The rows of every id, one [N_f, D] a feature, for pooling NONE; otherwise as Forward.
  std::vector<Variable> ForwardSequence(Context& ctx, const KeyedJaggedTensor& kjt);

  int num_tables() const;
  const std::vector<EmbeddingFeature>& features() const;
  const BaseEmbeddingConfig& table(int index) const;
  const std::string& table_name(int index) const { return table(index).name; }
  // [E, D], f32; shares the table's storage: writing changes the table.
  Tensor weight(int index) const;
  // The same as a variable. REQUIRES: the table's rule is Dense.
  Variable weight_variable(int index) const;
  // What the last backward summed: touched rows, ascending, and their gradients. REQUIRES: the
  // table's rule is None.
  const RowGradients& row_gradients(int index) const;
  std::vector<OptimizerState> optimizer_states(int index) const;
  const AnyRule& rule(int index) const;
  void SetLearningRate(float lr);
  void SetLearningRate(int index, float lr);

  // Training forwards so far: t of the rules.
  int64_t iter() const;
  void set_iter(int64_t iter);
  // Findings of the bounds check in mode WARNING so far. Waits for the device.
  int64_t bounds_check_warnings() const;

 private:
  struct State;
  class Batch;
  class UpdateFunction;
  std::vector<Variable> Run(Context& ctx, const KeyedJaggedTensor& kjt, bool sequence);
  std::shared_ptr<State> state_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_BATCHED_EMBEDDING_H_
