#include "sharding/sharded_fused_optimizer.h"

#include <algorithm>

#include "comm/leader.h"
#include "embedding/table/fused_states.h"
#include "runtime/tensor.h"
#include "sharding/table_checkpoint.h"
#include "sharding/whole_rows.h"

namespace tessera {
namespace {

// The states that are tensors, in the order of the rule.
std::vector<internal::ExpectedState> TensorStatesOf(const BaseEmbeddingConfig& table) {
  std::vector<internal::ExpectedState> states;
  for (const StateSpec& spec : RuleStates(table.optimizer))
    states.push_back({std::string(spec.name),
                      spec.per_row ? Shape{table.num_embeddings}
                                   : Shape{table.num_embeddings, table.embedding_dim},
                      spec.counts ? DType::kF32 : table.state_type});
  return states;
}

}  // namespace

ShardedFusedOptimizer::ShardedFusedOptimizer(Context& ctx, ShardedTables& tables,
                                             std::string prefix)
    : ctx_(ctx), tables_(tables), prefix_(std::move(prefix)) {
  for (size_t t = 0; t < tables_.tables().size(); ++t)
    if (internal::IsUpdatedInBackward(tables_.tables()[t].optimizer))
      updated_.push_back(static_cast<int>(t));
}

void ShardedFusedOptimizer::Step(Context&) {}
void ShardedFusedOptimizer::ZeroGrad() {}

const BaseEmbeddingConfig& ShardedFusedOptimizer::TableOf(int group) const {
  internal::CheckGroup(group, num_groups());
  return tables_.tables()[static_cast<size_t>(updated_[static_cast<size_t>(group)])];
}

std::string ShardedFusedOptimizer::KeyOf(const BaseEmbeddingConfig& table) const {
  return internal::PrefixedKey(prefix_, table.name + ".weight");
}

std::vector<std::string> ShardedFusedOptimizer::Keys() const {
  std::vector<std::string> keys;
  for (int g = 0; g < num_groups(); ++g) keys.push_back(KeyOf(TableOf(g)));
  return keys;
}

std::vector<ParamGroup> ShardedFusedOptimizer::ParamGroups() const {
  std::vector<ParamGroup> groups;
  for (int g = 0; g < num_groups(); ++g)
    groups.push_back({{KeyOf(TableOf(g))}, internal::FusedOptionsOf(TableOf(g).optimizer)});
  return groups;
}

double ShardedFusedOptimizer::GroupLearningRate(int group) const {
  return static_cast<double>(LearningRate(TableOf(group).optimizer));
}

void ShardedFusedOptimizer::SetGroupLearningRate(int group, double lr) {
  internal::CheckLearningRate(lr);
  internal::CheckGroup(group, num_groups());
  tables_.SetLearningRate(updated_[static_cast<size_t>(group)], static_cast<float>(lr));
}

void ShardedFusedOptimizer::SetLearningRate(double lr) {
  internal::CheckLearningRate(lr);
  tables_.SetLearningRate(static_cast<float>(lr));
}

OptimizerStateDict ShardedFusedOptimizer::StateDict() const {
  tables_.Flush(ctx_);
  const std::vector<ShardTensors> held = ShardTensorsOf(tables_);
  OptimizerStateDict state;
  for (int g = 0; g < num_groups(); ++g) {
    const BaseEmbeddingConfig& table = TableOf(g);
    std::vector<OptimizerState> whole;
    for (const internal::ExpectedState& s : TensorStatesOf(table))
      whole.push_back({s.name, Tensor::Empty(ctx_, s.shape, s.dtype)});
    MoveShards(ctx_, tables_.comm(), table.name, {tables_.plan().tables.at(table.name), held},
               internal::WholeOnEveryRank(tables_, table, {}, whole), ShardPart::kStates);
    auto& states = state[KeyOf(table)];
    states = internal::FusedNumbersOf(table.optimizer, tables_.iter());
    for (const OptimizerState& s : whole) states[s.name] = s.tensor;
  }
  return state;
}

void ShardedFusedOptimizer::CheckStateDict(const OptimizerStateDict& state) const {
  internal::CheckHasOnlyKeys(state, Keys());
  internal::CheckHasKeys(state, Keys());
  for (int g = 0; g < num_groups(); ++g) {
    const BaseEmbeddingConfig& table = TableOf(g);
    std::vector<internal::ExpectedState> expected = TensorStatesOf(table);
    for (const auto& [name, number] : internal::FusedNumbersOf(table.optimizer, 0))
      expected.push_back({name, number.shape(), number.dtype()});
    internal::CheckFusedStates(KeyOf(table), state.at(KeyOf(table)), expected);
  }
}

void ShardedFusedOptimizer::LoadStateDict(Context& ctx, const OptimizerStateDict& state) {
  GatherResultsSync(tables_.comm(), "loading the state of sharded tables", [&] {
    CheckStateDict(state);
    return std::string();
  });
  tables_.Flush(ctx);
  const std::vector<ShardTensors> held = ShardTensorsOf(tables_);
  int64_t iter = 0;
  for (int g = 0; g < num_groups(); ++g) {
    const BaseEmbeddingConfig& table = TableOf(g);
    const std::map<std::string, Tensor>& given = state.at(KeyOf(table));
    std::vector<OptimizerState> whole;
    for (const internal::ExpectedState& s : TensorStatesOf(table))
      whole.push_back({s.name, given.at(s.name).To(ctx, ctx.device())});
    MoveShards(ctx, tables_.comm(), table.name,
               internal::WholeOnEveryRank(tables_, table, {}, std::move(whole)),
               {tables_.plan().tables.at(table.name), held}, ShardPart::kStates);
    iter = std::max(iter, internal::IterOf(given));
    tables_.set_max_counter(updated_[static_cast<size_t>(g)], internal::MaxCounterOf(given));
  }
  tables_.ForgetOldRows(ctx);
  if (num_groups() == 0) return;
  tables_.set_iter(iter);
}

}  // namespace tessera
