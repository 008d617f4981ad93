#ifndef TESSERA_EMBEDDING_FUSED_OPTIMIZER_H_
#define TESSERA_EMBEDDING_FUSED_OPTIMIZER_H_
// Tables that are updated inside backward, seen as an optimizer: a handle on their learning rates
// and state. One parameter and one group a table, in the order of the tables; those with the rules
// Dense and None are left to the user's own optimizer.
//
//   key      "<prefix>.<table>.weight", or "<table>.weight" without a prefix. With the prefix
//            "embedding_bags" (EmbeddingBagCollection), "embeddings" (EmbeddingCollection): the
//            name in the collection's state_dict, as in TorchRec
//   states   those of the rule, by its names, and `iter` [] i64, the table's training forwards;
//            with CounterRowwiseAdagrad also `max_counter` [] f32
#include <map>
#include <string>
#include <vector>

#include "embedding/table_batched_embedding.h"
#include "optim/optimizer.h"
#include "runtime/tensor.h"

namespace tessera {

class FusedOptimizer final : public Optimizer {
 public:
  explicit FusedOptimizer(const TableBatchedEmbedding& tables, std::string prefix = "");

  // Does nothing: backward has updated the tables, with the rates of that time. A rate that is set
  // applies from the next backward on.
  void Step(Context& ctx) override;
  // Does nothing: there are no gradients.
  void ZeroGrad() override;

  std::vector<std::string> Keys() const override;
  std::vector<NamedParameter> Variables() const override { return {}; }

  std::vector<ParamGroup> ParamGroups() const override;
  int num_groups() const override { return static_cast<int>(updated_.size()); }
  double GroupLearningRate(int group) const override;
  void SetGroupLearningRate(int group, double lr) override;
  // Sets each table's rate to lr times its lr_scale, like TableBatchedEmbedding::SetLearningRate.
  void SetLearningRate(double lr) override;

  // The rule's states share memory with the tables; `iter` and `max_counter` are copies, and only
  // LoadStateDict sets them. Throws Error where a cache holds updates: after TableCaches::Flush.
  OptimizerStateDict StateDict() const override;
  void CheckStateDict(const OptimizerStateDict& state) const override;
  // Writes into the tables' states.
  void LoadStateDict(Context& ctx, const OptimizerStateDict& state) override;

 private:
  int TableOf(int group) const;
  std::string KeyOf(int table) const;
  std::map<std::string, Tensor> NumbersOf(int table) const;  // those that are no tensors of it
  std::map<std::string, Tensor> StatesOf(int table) const;

  TableBatchedEmbedding tables_;  // shares the tables
  std::string prefix_;
  std::vector<int> updated_;  // tables, one a group
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_FUSED_OPTIMIZER_H_
