#include "optim/any_rule.h"

#include <type_traits>

#include "runtime/base/check.h"

namespace tessera {
namespace {

template <typename Rule>
void CheckOptions(const Rule& r) {
  const char* name = r.kName;
  TESSERA_CHECK(r.lr >= 0, "{}: lr {}; expected at least 0", name, r.lr);
  if constexpr (requires { r.eps; })
    TESSERA_CHECK(r.eps >= 0, "{}: eps {}; expected at least 0", name, r.eps);
  if constexpr (requires { r.beta2; })
    TESSERA_CHECK(r.beta1 >= 0 && r.beta1 < 1 && r.beta2 >= 0 && r.beta2 < 1,
                  "{}: beta1 {}, beta2 {}; expected at least 0, below 1", name, r.beta1, r.beta2);
  if constexpr (requires { r.weight_decay; })
    TESSERA_CHECK(r.weight_decay >= 0, "{}: weight_decay {}; expected at least 0", name,
                  r.weight_decay);
  if constexpr (requires { r.weight_decay_mode; })
    TESSERA_CHECK(r.weight_decay_mode != WeightDecayMode::kAdagradW ||
                      (std::is_same_v<Rule, CounterRowwiseAdagrad>),
                  "{}: weight_decay_mode ADAGRADW is for counter_rowwise_adagrad alone", name);
  if constexpr (requires { r.step_ema; }) TESSERA_CHECK_GE(r.step_ema, 1, "{}: step_ema", name);
  if constexpr (requires { r.step_swap; }) TESSERA_CHECK_GE(r.step_swap, 1, "{}: step_swap", name);
  if constexpr (requires { r.max_counter; })
    TESSERA_CHECK(r.max_counter > 0, "{}: max_counter {}; expected above 0", name, r.max_counter);
}

}  // namespace

void CustomRule::Executor::UpdateOnCuda(Context&, float, int64_t, const internal::CudaRows&) const {
  TESSERA_FAIL(
      "the rule {} was compiled for the CPU only: make it with MakeCudaCustomRule in a .cu "
      "file that includes embedding/custom_rule.cuh",
      name());
}

const char* RuleName(const AnyRule& rule) {
  if (const auto* custom = std::get_if<CustomRule>(&rule)) return custom->executor->name();
  return std::visit(
      [](const auto& r) -> const char* {
        if constexpr (requires { r.kName; })
          return r.kName;
        else
          return "";
      },
      rule);
}

StateSpecs RuleStates(const AnyRule& rule) {
  return std::visit([](const auto& r) { return r.States(); }, rule);
}

float LearningRate(const AnyRule& rule) {
  return std::visit([](const auto& r) { return r.lr; }, rule);
}

void SetLearningRate(AnyRule& rule, float lr) {
  std::visit([&](auto& r) { r.lr = lr; }, rule);
}

TableSweep SweepAt(const AnyRule& rule, int64_t t) {
  return std::visit(
      [&](const auto& r) -> TableSweep {
        if constexpr (requires { r.SweepAt(t); })
          return r.SweepAt(t);
        else
          return {};
      },
      rule);
}

void CheckRule(const AnyRule& rule) {
  std::visit(
      [](const auto& r) {
        if constexpr (requires { r.kName; }) CheckOptions(r);
      },
      rule);
}

}  // namespace tessera
