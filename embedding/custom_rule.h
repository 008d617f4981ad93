#ifndef TESSERA_EMBEDDING_CUSTOM_RULE_H_
#define TESSERA_EMBEDDING_CUSTOM_RULE_H_
// Your own update rule, from outside the library: write a struct as optim/rules/rule.h describes
// it, and give MakeCustomRule(it) as a table's optimizer. The executor is compiled in your file,
// for the instruction set of your flags; its bits are the same. For GPUs: custom_rule.cuh.
#include <memory>
#include <type_traits>

#include "embedding/update/update_executor.h"
#include "optim/any_rule.h"

namespace tessera {

namespace internal {

template <typename Rule>
class CustomExecutor : public CustomRule::Executor {
  static_assert(std::is_trivially_copyable_v<typename Rule::Step> &&
                    std::is_default_constructible_v<typename Rule::Step>,
                "a Step is passed by value to every machine, in arrays");
  static_assert(Rule::Step::kElementStates <= kMaxElementStates &&
                Rule::Step::kRowStates <= kMaxRowStates);

 public:
  explicit CustomExecutor(const Rule& rule) : rule_(rule), states_(rule.States()) {}
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

template <typename Rule>
AnyRule MakeCustomRule(const Rule& rule) {
  return CustomRule{rule.lr, std::make_shared<internal::CustomExecutor<Rule>>(rule)};
}

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CUSTOM_RULE_H_
