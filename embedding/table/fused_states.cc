#include "embedding/table/fused_states.h"

#include <variant>

#include "optim/rule_options.h"

namespace tessera::internal {
namespace {

constexpr char kIter[] = "iter", kMaxCounter[] = "max_counter";

template <typename T>
Tensor HostNumber(T value) {
  const Tensor number = Tensor::EmptyHost({}, DTypeOf<T>::value);
  *number.data<T>() = value;
  return number;
}

}  // namespace

bool IsUpdatedInBackward(const AnyRule& rule) {
  return !std::holds_alternative<Dense>(rule) && !std::holds_alternative<None>(rule);
}

std::vector<std::pair<std::string, double>> FusedOptionsOf(const AnyRule& rule) {
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

float MaxCounterOf(const AnyRule& rule) {
  const auto* counted = std::get_if<CounterRowwiseAdagrad>(&rule);
  return counted != nullptr ? counted->max_counter : 1;
}

void SetMaxCounter(AnyRule& rule, float max_counter) {
  TESSERA_CHECK(max_counter > 0, "max_counter {}; expected above 0", max_counter);
  if (auto* counted = std::get_if<CounterRowwiseAdagrad>(&rule)) counted->max_counter = max_counter;
}

std::map<std::string, Tensor> FusedNumbersOf(const AnyRule& rule, int64_t iter) {
  std::map<std::string, Tensor> numbers = {{kIter, HostNumber(iter)}};
  if (std::holds_alternative<CounterRowwiseAdagrad>(rule))
    numbers[kMaxCounter] = HostNumber(MaxCounterOf(rule));
  return numbers;
}

void CheckIter(int64_t iter, const std::string& what) {
  constexpr int64_t kMost = int64_t{1} << 62;
  if (iter < 0 || iter > kMost)
    throw Error(Format("{}: expected 0 to {} steps, got {}", what, kMost, iter));
}

int64_t IterOf(const std::map<std::string, Tensor>& states) {
  return states.at(kIter).ToVector<int64_t>()[0];
}

float MaxCounterOf(const std::map<std::string, Tensor>& states) {
  return states.contains(kMaxCounter) ? states.at(kMaxCounter).ToVector<float>()[0] : 1;
}

void CheckFusedStates(const std::string& key, const std::map<std::string, Tensor>& states,
                      std::span<const ExpectedState> expected) {
  CheckStatesOf(key, states, expected);
  CheckIter(IterOf(states), Format("optimizer state '{}' of '{}'", kIter, key));
  TESSERA_CHECK(MaxCounterOf(states) > 0, "optimizer state '{}' of '{}': expected above 0",
                kMaxCounter, key);
}

}  // namespace tessera::internal
