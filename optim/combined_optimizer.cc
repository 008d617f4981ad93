#include "optim/combined_optimizer.h"

#include "optim/state_dict.h"
#include "runtime/base/check.h"

namespace tessera {

using internal::PrefixedKey;

CombinedOptimizer::CombinedOptimizer(std::vector<Part> parts) : parts_(std::move(parts)) {
  for (const Part& part : parts_)
    TESSERA_CHECK(part.optimizer != nullptr, "combined optimizer: part '{}' has none", part.prefix);
  internal::CheckKeysAreUnique(Keys());
  internal::CheckVariablesAreUnique(Variables());
}

void CombinedOptimizer::Step(Context& ctx) {
  for (Part& part : parts_) part.optimizer->Step(ctx);
}

void CombinedOptimizer::ZeroGrad() {
  for (Part& part : parts_) part.optimizer->ZeroGrad();
}

std::vector<std::string> CombinedOptimizer::Keys() const {
  std::vector<std::string> keys;
  for (const Part& part : parts_)
    for (const std::string& key : part.optimizer->Keys())
      keys.push_back(PrefixedKey(part.prefix, key));
  return keys;
}

std::vector<NamedParameter> CombinedOptimizer::Variables() const {
  std::vector<NamedParameter> variables;
  for (const Part& part : parts_)
    for (NamedParameter& v : part.optimizer->Variables())
      variables.push_back({PrefixedKey(part.prefix, v.name), v.variable});
  return variables;
}

std::vector<ParamGroup> CombinedOptimizer::ParamGroups() const {
  std::vector<ParamGroup> groups;
  for (const Part& part : parts_) {
    for (ParamGroup& group : part.optimizer->ParamGroups()) {
      for (std::string& key : group.parameters) key = PrefixedKey(part.prefix, key);
      groups.push_back(std::move(group));
    }
  }
  return groups;
}

int CombinedOptimizer::num_groups() const {
  int count = 0;
  for (const Part& part : parts_) count += part.optimizer->num_groups();
  return count;
}

Optimizer& CombinedOptimizer::PartOf(int& group) const {
  internal::CheckGroup(group, num_groups());
  auto part = parts_.begin();
  for (; group >= part->optimizer->num_groups(); ++part) group -= part->optimizer->num_groups();
  return *part->optimizer;
}

double CombinedOptimizer::GroupLearningRate(int group) const {
  const Optimizer& part = PartOf(group);
  return part.GroupLearningRate(group);
}

void CombinedOptimizer::SetGroupLearningRate(int group, double lr) {
  Optimizer& part = PartOf(group);
  part.SetGroupLearningRate(group, lr);
}

void CombinedOptimizer::SetLearningRate(double lr) {
  for (Part& part : parts_) part.optimizer->SetLearningRate(lr);
}

OptimizerStateDict CombinedOptimizer::StateDict() const {
  OptimizerStateDict state;
  for (const Part& part : parts_)
    for (auto& [key, states] : part.optimizer->StateDict())
      state.emplace(PrefixedKey(part.prefix, key), states);
  return state;
}

std::vector<OptimizerStateDict> CombinedOptimizer::Split(const OptimizerStateDict& state) const {
  std::vector<std::string> known;
  std::vector<OptimizerStateDict> split(parts_.size());
  for (size_t p = 0; p < parts_.size(); ++p) {
    for (const std::string& key : parts_[p].optimizer->Keys()) {
      known.push_back(PrefixedKey(parts_[p].prefix, key));
      const auto found = state.find(known.back());
      if (found != state.end()) split[p].emplace(key, found->second);
    }
  }
  internal::CheckHasOnlyKeys(state, known);
  return split;
}

void CombinedOptimizer::CheckStateDict(const OptimizerStateDict& state) const {
  const std::vector<OptimizerStateDict> split = Split(state);
  for (size_t p = 0; p < parts_.size(); ++p) parts_[p].optimizer->CheckStateDict(split[p]);
}

void CombinedOptimizer::LoadStateDict(Context& ctx, const OptimizerStateDict& state) {
  CheckStateDict(state);  // of all parts, before the first is changed
  const std::vector<OptimizerStateDict> split = Split(state);
  for (size_t p = 0; p < parts_.size(); ++p) parts_[p].optimizer->LoadStateDict(ctx, split[p]);
}

}  // namespace tessera
