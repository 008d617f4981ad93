#ifndef TESSERA_OPTIM_RULE_OPTIONS_H_
#define TESSERA_OPTIM_RULE_OPTIONS_H_
// The options of every rule by name, for whoever reads, writes or lists them.
#include <string_view>
#include <type_traits>

#include "optim/any_rule.h"

namespace tessera {

// Calls visit(name, option) for each option of a rule of the library, in the order of its struct.
// An option is a float, double, bool, int64_t or a mode with ToString. Dense and None have none. An
// option that a new rule brings gets its line here.
template <typename Rule>
void VisitRuleOptions(Rule& r, auto&& visit) {
  if constexpr (
      requires { r.SweepAt(1); } || requires { r.AtStep(1); })
    visit("lr", r.lr);
  if constexpr (requires { r.eps; }) visit("eps", r.eps);
  if constexpr (requires { r.beta1; }) visit("beta1", r.beta1);
  if constexpr (requires { r.beta2; }) visit("beta2", r.beta2);
  if constexpr (requires { r.eta; }) visit("eta", r.eta);
  if constexpr (requires { r.momentum; }) visit("momentum", r.momentum);
  if constexpr (requires { r.weight_decay; }) visit("weight_decay", r.weight_decay);
  if constexpr (requires { r.nesterov; }) visit("nesterov", r.nesterov);
  if constexpr (requires { r.weight_decay_mode; }) visit("weight_decay_mode", r.weight_decay_mode);
  if constexpr (requires { r.max_norm; }) visit("max_norm", r.max_norm);
  if constexpr (requires { r.use_rowwise_bias_correction; })
    visit("use_rowwise_bias_correction", r.use_rowwise_bias_correction);
  if constexpr (requires { r.beta; }) visit("beta", r.beta);
  if constexpr (requires { r.l1; }) visit("l1", r.l1);
  if constexpr (requires { r.l2; }) visit("l2", r.l2);
  if constexpr (requires { r.ema_beta; }) visit("ema_beta", r.ema_beta);
  if constexpr (requires { r.ar_alpha; }) visit("ar_alpha", r.ar_alpha);
  if constexpr (requires { r.min_shrinkage; }) visit("min_shrinkage", r.min_shrinkage);
  if constexpr (requires { r.start_iter; }) visit("start_iter", r.start_iter);
  if constexpr (requires { r.learning_rate_mode; })
    visit("learning_rate_mode", r.learning_rate_mode);
  if constexpr (requires { r.counter_halflife; }) visit("counter_halflife", r.counter_halflife);
  if constexpr (requires { r.adjustment_iter; }) visit("adjustment_iter", r.adjustment_iter);
  if constexpr (requires { r.adjustment_ub; }) visit("adjustment_ub", r.adjustment_ub);
  if constexpr (requires { r.tail_id_threshold; }) {
    visit("tail_id_threshold", r.tail_id_threshold);
    visit("tail_id_threshold_is_ratio", r.tail_id_threshold_is_ratio);
    visit("max_counter_update_freq", r.max_counter_update_freq);
    visit("max_counter", r.max_counter);
  }
  if constexpr (requires { r.weight_norm_coefficient; })
    visit("weight_norm_coefficient", r.weight_norm_coefficient);
  if constexpr (requires { r.lower_bound; }) visit("lower_bound", r.lower_bound);
  if constexpr (requires { r.step_ema; }) visit("step_ema", r.step_ema);
  if constexpr (requires { r.step_swap; }) visit("step_swap", r.step_swap);
  if constexpr (requires { r.step_start; }) visit("step_start", r.step_start);
  if constexpr (requires { r.step_ema_coef; }) visit("step_ema_coef", r.step_ema_coef);
  if constexpr (requires { r.step_mode; }) visit("step_mode", r.step_mode);
}

// Whether an option is the part of a moment that a step keeps: it must be below 1.
inline bool IsDecay(std::string_view option) {
  return option == "beta1" || option == "beta2" || option == "momentum" || option == "ema_beta";
}

// Whether a configuration can name it: all but None, which only code can use, and CustomRule.
template <typename Rule>
inline constexpr bool kNamedRule = !std::is_same_v<Rule, None> && !std::is_same_v<Rule, CustomRule>;

// Calls fn with a default-made rule of each kind that a configuration can name.
template <size_t I = 0>
void ForEachNamedRule(auto&& fn) {
  if constexpr (I < std::variant_size_v<RuleVariant>) {
    using Rule = std::variant_alternative_t<I, RuleVariant>;
    if constexpr (kNamedRule<Rule>) fn(Rule{});
    ForEachNamedRule<I + 1>(fn);
  }
}

// Whether a rule of the library has an option of this name.
inline bool IsRuleOption(std::string_view name) {
  bool found = false;
  ForEachNamedRule([&](auto rule) {
    VisitRuleOptions(rule, [&](const char* key, auto&) { found = found || name == key; });
  });
  return found;
}

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULE_OPTIONS_H_
