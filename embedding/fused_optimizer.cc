#include "embedding/fused_optimizer.h"

#include <algorithm>
#include <variant>

#include "optim/rule_options.h"
#include "optim/state_dict.h"

namespace tessera {
namespace {

constexpr char kIter[] = "iter", kMaxCounter[] = "max_counter";

template <typename T>
Tensor HostNumber(T value) {
  const Tensor number = Tensor::EmptyHost({}, DTypeOf<T>::value);
  *number.data<T>() = value;
  return number;
}

bool CountsRows(const AnyRule& rule) { return std::holds_alternative<CounterRowwiseAdagrad>(rule); }

// Modes by their numbers.
std::vector<std::pair<std::string, double>> OptionsOf(const AnyRule& rule) {
  std::vector<std::pair<std::string, double>> options = {
      {"lr", static_cast<double>(LearningRate(rule))}};
  std::visit(
      [&](const auto& r) {
        VisitRuleOptions(r, [&](const std::string& name, const auto& option) {
          if (name != "lr") options.emplace_back(name, static_cast<double>(option));
        });
      },
      rule);
  return options;
}

bool IsUpdated(const AnyRule& rule) {
  return !std::holds_alternative<Dense>(rule) && !std::holds_alternative<None>(rule);
}

}  // namespace

FusedOptimizer::FusedOptimizer(const TableBatchedEmbedding& tables, std::string prefix)
    : tables_(tables), prefix_(std::move(prefix)) {
  for (int t = 0; t < tables_.num_tables(); ++t)
    if (IsUpdated(tables_.rule(t))) updated_.push_back(t);
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
    groups.push_back({{KeyOf(TableOf(g))}, OptionsOf(tables_.rule(TableOf(g)))});
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

std::map<std::string, Tensor> FusedOptimizer::StatesOf(int table) const {
  std::map<std::string, Tensor> states;
  for (const OptimizerState& s : tables_.optimizer_states(table)) states[s.name] = s.tensor;
  states[kIter] = HostNumber(tables_.iter(table));
  if (CountsRows(tables_.rule(table))) states[kMaxCounter] = HostNumber(tables_.max_counter());
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
    for (const auto& [name, tensor] : StatesOf(table))
      expected.push_back({name, tensor.shape(), tensor.dtype()});
    const std::map<std::string, Tensor>& given = state.at(KeyOf(table));
    internal::CheckStatesOf(KeyOf(table), given, expected);
    TESSERA_CHECK_GE(given.at(kIter).ToVector<int64_t>()[0], 0, "optimizer state '{}' of '{}'",
                     kIter, KeyOf(table));
    if (given.contains(kMaxCounter))
      TESSERA_CHECK(given.at(kMaxCounter).ToVector<float>()[0] > 0,
                    "optimizer state '{}' of '{}': expected above 0", kMaxCounter, KeyOf(table));
  }
}

void FusedOptimizer::LoadStateDict(Context& ctx, const OptimizerStateDict& state) {
  CheckStateDict(state);
  tables_.Flush(ctx);
  tables_.ResetCaches(ctx);
  const auto iter_of = [&](int table) {
    return state.at(KeyOf(table)).at(kIter).ToVector<int64_t>()[0];
  };
  int64_t forwards = 0;  // of all tables together: none was without the others
  for (const int table : updated_) forwards = std::max(forwards, iter_of(table));
  if (!updated_.empty()) tables_.set_iter(forwards);
  for (const int table : updated_) {
    const std::map<std::string, Tensor>& given = state.at(KeyOf(table));
    for (const OptimizerState& s : tables_.optimizer_states(table))
      s.tensor.CopyFrom(ctx, given.at(s.name));
    tables_.set_iter(table, iter_of(table));
    if (CountsRows(tables_.rule(table)))
      tables_.set_max_counter(given.at(kMaxCounter).ToVector<float>()[0]);
  }
}

}  // namespace tessera
