#ifndef TESSERA_EMBEDDING_CUSTOM_RULE_H_
#define TESSERA_EMBEDDING_CUSTOM_RULE_H_
// Your own update rule, from outside the library: write a struct as optim/rules/rule.h describes
// it, and give MakeCustomRule(it) as a table's optimizer. The executor's loop is compiled in your
// file, for the one instruction set of its flags (SSE2 without -march=…), where a rule of the
// library has a loop for each and takes the machine's best. With -ffp-contract=off its bits are the
// same on all of them. A rule of your own acts in the update alone: what a few rules of the library
// do before a lookup (SweepAt, OwedAt) is refused by the compiler. embedding/check_rule.h holds a
// rule against its formula. For GPUs: custom_rule.cuh.
#include <memory>
#include <type_traits>

#include "embedding/update/update_executor.h"
#include "optim/any_rule.h"
#include "runtime/base/check.h"

namespace tessera {

namespace internal {

template <typename Step, typename Real>
concept UpdatesElements = requires(const Step& step, const typename Step::Row& row,
                                   RowElement<Real>& x, Real* state) {
  step.Update(row, x, state);
};
template <typename Step, typename Real>
concept SumsStatistics = requires(const Step& step, const RowElement<Real>& x, Real* terms) {
  step.Statistics(x, terms);
};
template <typename Step>
concept HasLateStatistics = requires {
  Step::kLateStatistics;
};
template <typename Step, typename Real>
concept SumsLateStatistics = requires(const Step& step, const typename Step::Row& row,
                                      const RowElement<Real>& x, const Real* state, Real* terms) {
  step.LateStatistics(row, x, state, terms);
};
// Whether the rule changes whole tables before a lookup (optim/rules/table_sweep.h).
template <typename Rule>
concept SweepsTables = requires(const Rule& rule) {
  rule.SweepAt(1);
};
// Whether a lookup reads rows with the decay that they owe
// (optim/rules/global_decay_rowwise_adagrad.h).
template <typename Rule>
concept OwesDecay = requires(const Rule& rule) {
  rule.OwedAt(1);
};

// Throws Error unless States() names as many states of each kind as Step computes with. It may name
// fewer states of a row, in whose place Step sees 0.
template <typename Rule>
void CheckStates(const Rule& rule) {
  const StateSpecs states = rule.States();
  int element = 0, row = 0;
  for (const StateSpec& state : states) ++(state.per_row ? row : element);
  TESSERA_CHECK(element == Rule::Step::kElementStates && row <= Rule::Step::kRowStates,
                "rule {}: States() names {} states of an element and {} of a row; Step computes "
                "with kElementStates = {} and kRowStates = {}",
                Rule::kName, element, row, Rule::Step::kElementStates, Rule::Step::kRowStates);
}

template <typename Rule>
class CustomExecutor : public CustomRule::Executor {
  static_assert(std::is_trivially_copyable_v<typename Rule::Step> &&
                    std::is_default_constructible_v<typename Rule::Step>,
                "a Step is passed by value to every machine, in arrays");
  static_assert(Rule::Step::kElementStates >= 0 && Rule::Step::kElementStates <= kMaxElementStates,
                "kElementStates, the states of an element, are 0, 1 or 2");
  static_assert(Rule::Step::kRowStates >= 0 && Rule::Step::kRowStates <= kMaxRowStates,
                "kRowStates, the states of one number a row, are 0, 1, 2 or 3");
  static_assert(Rule::Step::kStatistics >= 0 && Rule::Step::kStatistics <= kMaxStatistics,
                "kStatistics, the sums over a row, are 0, 1 or 2");
  static_assert(UpdatesElements<typename Rule::Step, float>,
                "Step needs Update(const Row&, RowElement<Real>& x, Real* element_state)");
  static_assert(Rule::Step::kStatistics == 0 || SumsStatistics<typename Rule::Step, float>,
                "kStatistics > 0 needs Statistics(RowElement<Real> x, Real* terms)");
  static_assert(!HasLateStatistics<typename Rule::Step> ||
                    SumsLateStatistics<typename Rule::Step, float>,
                "kLateStatistics needs LateStatistics(const Row&, RowElement<Real> x, const Real* "
                "element_state, Real* terms)");
  static_assert(!SweepsTables<Rule>,
                "a rule of your own changes no rows that a batch does not name: leave SweepAt out");
  static_assert(!OwesDecay<Rule>,
                "a rule of your own reads rows as they are stored: leave OwedAt out");

 public:
  explicit CustomExecutor(const Rule& rule) : rule_(rule), states_(rule.States()) {
    CheckStates(rule);
  }
  const char* name() const override { return Rule::kName; }
  StateSpecs States() const override { return states_; }
  void Update(float lr, int64_t t, const RowUpdateArgs& args) const override {
    TESSERA_ISA::Update(StepOf(lr, t), args);
  }

 protected:
  typename Rule::Step StepOf(float lr, int64_t t) const {
    Rule rule = rule_;
    rule.lr = lr;
    return rule.AtStep(t);
  }

 private:
  Rule rule_;
  StateSpecs states_;
};

}  // namespace internal

// Throws Error where States() and Step disagree. A table refuses a rule without a name, and states
// that cannot be saved by their names: each is of letters, digits and '_', none stands twice, and
// none is called weight, iter or max_counter.
template <typename Rule>
AnyRule MakeCustomRule(const Rule& rule) {
  return CustomRule{rule.lr, std::make_shared<internal::CustomExecutor<Rule>>(rule)};
}

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CUSTOM_RULE_H_
