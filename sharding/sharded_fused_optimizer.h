#ifndef TESSERA_SHARDING_SHARDED_FUSED_OPTIMIZER_H_
#define TESSERA_SHARDING_SHARDED_FUSED_OPTIMIZER_H_
// Sharded tables that are updated inside backward, seen as an optimizer (TorchRec's fused_optimizer
// of a sharded module): as FusedOptimizer, whatever the plan. Keys, groups and states are those of
// the tables without shards, alike on every rank.
//
//   states   those of whole tables, [E, D] or [E], gathered from all ranks. Where each column block
//            keeps one number a row, the state is their mean, weighted by columns; on loading, each
//            block gets a copy (sharding/checkpoint/checkpoint_rows.h)
//
// What is saved under one plan loads under any other, and into tables without shards.
#include <string>
#include <vector>

#include "optim/optimizer.h"
#include "runtime/context.h"
#include "sharding/sharded_tables.h"

namespace tessera {

class ShardedFusedOptimizer final : public Optimizer {
 public:
  // Keys are "<prefix>.<table>.weight", or "<table>.weight" without a prefix. REQUIRES: ctx and
  // tables outlive this.
  ShardedFusedOptimizer(Context& ctx, ShardedTables& tables, std::string prefix = "");

  // Does nothing: backward has updated the tables, with the rates of that time.
  void Step(Context& ctx) override;
  void ZeroGrad() override;

  std::vector<std::string> Keys() const override;
  std::vector<NamedParameter> Variables() const override { return {}; }

  std::vector<ParamGroup> ParamGroups() const override;
  int num_groups() const override { return static_cast<int>(updated_.size()); }
  double GroupLearningRate(int group) const override;
  // Sets the rate of this rank's parts of the table: every rank sets the same.
  void SetGroupLearningRate(int group, double lr) override;
  // Sets each table's rate to lr times its lr_scale, like ShardedTables.
  void SetLearningRate(double lr) override;

  // Whole states on ctx's device, on every rank, which take as much memory there as the tables'
  // states without shards. Every rank calls.
  OptimizerStateDict StateDict() const override;
  void CheckStateDict(const OptimizerStateDict& state) const override;
  // Each rank takes its parts. Every rank calls with the same state; if one's is refused, every
  // rank throws Error, and nothing has changed.
  void LoadStateDict(Context& ctx, const OptimizerStateDict& state) override;

 private:
  const BaseEmbeddingConfig& TableOf(int group) const;
  std::string KeyOf(const BaseEmbeddingConfig& table) const;

  Context& ctx_;
  ShardedTables& tables_;
  std::string prefix_;
  std::vector<int> updated_;  // tables, one a group
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_SHARDED_FUSED_OPTIMIZER_H_
