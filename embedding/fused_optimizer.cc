#include "embedding/fused_optimizer.h"

#include <algorithm>

#include "embedding/table/fused_states.h"

namespace tessera {

FusedOptimizer::FusedOptimizer(const TableBatchedEmbedding& tables, std::string prefix)
    : tables_(tables), prefix_(std::move(prefix)) {
  for (int t = 0; t < tables_.num_tables(); ++t)
    if (internal::IsUpdatedInBackward(tables_.rule(t))) updated_.push_back(t);
}

void FusedOptimizer::Step(Context&) {}
void FusedOptimizer::ZeroGrad() {}

int FusedOptimizer::TableOf(int group) const {
  internal::CheckGroup(group, num_groups());
  return updated_[static_cast<size_t>(group)];
}

std::string FusedOptimizer::KeyOf(int table) const {
  return internal::PrefixedKey(prefix_, tables_.table_name(table) + ".weight");
}

std::vector<std::string> FusedOptimizer::Keys() const {
  std::vector<std::string> keys;
  for (const int table : updated_) keys.push_back(KeyOf(table));
  return keys;
}

std::vector<ParamGroup> FusedOptimizer::ParamGroups() const {
  std::vector<ParamGroup> groups;
  for (int g = 0; g < num_groups(); ++g)
    groups.push_back({{KeyOf(TableOf(g))}, internal::FusedOptionsOf(tables_.rule(TableOf(g)))});
  return groups;
}

double FusedOptimizer::GroupLearningRate(int group) const {
  return static_cast<double>(LearningRate(tables_.rule(TableOf(group))));
}

void FusedOptimizer::SetGroupLearningRate(int group, double lr) {
  internal::CheckLearningRate(lr);
  tables_.SetLearningRate(TableOf(group), static_cast<float>(lr));
}

void FusedOptimizer::SetLearningRate(double lr) {
  internal::CheckLearningRate(lr);
  tables_.SetLearningRate(static_cast<float>(lr));
}

std::map<std::string, Tensor> FusedOptimizer::NumbersOf(int table) const {
  return internal::FusedNumbersOf(tables_.rule(table), tables_.iter(table));
}

std::map<std::string, Tensor> FusedOptimizer::StatesOf(int table) const {
  std::map<std::string, Tensor> states = NumbersOf(table);
  for (const OptimizerState& s : tables_.optimizer_states(table)) states[s.name] = s.tensor;
  return states;
}

OptimizerStateDict FusedOptimizer::StateDict() const {
  OptimizerStateDict state;
  for (const int table : updated_) state[KeyOf(table)] = StatesOf(table);
  return state;
}

void FusedOptimizer::CheckStateDict(const OptimizerStateDict& state) const {
  internal::CheckHasOnlyKeys(state, Keys());
  internal::CheckHasKeys(state, Keys());
  for (const int table : updated_) {
    std::vector<internal::ExpectedState> expected;
    // Shapes alone are asked for, which a cache that holds updates does not change.
    for (const auto& [name, tensor] : NumbersOf(table))
      expected.push_back({name, tensor.shape(), tensor.dtype()});
    for (int p = 1; p < tables_.rows().num_parts(table); ++p) {
      const NamedTensor state = tables_.rows().part(table, p);
      expected.push_back({state.name, state.tensor.shape(), state.tensor.dtype()});
    }
    internal::CheckFusedStates(KeyOf(table), state.at(KeyOf(table)), expected);
  }
}

void FusedOptimizer::LoadStateDict(Context& ctx, const OptimizerStateDict& state) {
  CheckStateDict(state);
  tables_.caches().Flush(ctx);
  tables_.caches().Reset(ctx);
  tables_.rows().TouchAll();
  const auto iter_of = [&](int table) { return internal::IterOf(state.at(KeyOf(table))); };
  int64_t forwards = 0;  // of all tables together: none was without the others
  for (const int table : updated_) forwards = std::max(forwards, iter_of(table));
  if (!updated_.empty()) tables_.set_iter(forwards);
  for (const int table : updated_) {
    const std::map<std::string, Tensor>& given = state.at(KeyOf(table));
    for (const OptimizerState& s : tables_.optimizer_states(table))
      s.tensor.CopyFrom(ctx, given.at(s.name));
    tables_.set_iter(table, iter_of(table));
    tables_.set_max_counter(table, internal::MaxCounterOf(given));
  }
}

}  // namespace tessera
