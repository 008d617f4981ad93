#ifndef TESSERA_EMBEDDING_CUSTOM_RULE_H_
#define TESSERA_EMBEDDING_CUSTOM_RULE_H_
// Your own update rule, from outside the library: write a struct as optim/rule.h describes it, and
// give MakeCustomRule(it) as a table's optimizer. The executor is compiled in your file, for the
// instruction set of your flags; its bits are the same.
#include <memory>
#include <type_traits>

#include "embedding/update_executor.h"
#include "optim/any_rule.h"

namespace tessera {

template <typename Rule>
AnyRule MakeCustomRule(const Rule& rule) {
  static_assert(std::is_trivially_copyable_v<typename Rule::Step>,
                "a Step is passed by value to every machine");
  static_assert(Rule::Step::kElementStates <= kMaxElementStates &&
                Rule::Step::kRowStates <= kMaxRowStates);
  class Executor final : public CustomRule::Executor {
   public:
    explicit Executor(const Rule& rule) : rule_(rule) {}
    const char* name() const override { return Rule::kName; }
    std::vector<StateSpec> States() const override { return rule_.States(); }
    void Update(float lr, int64_t t, const internal::RowUpdateArgs& args) const override {
      Rule rule = rule_;
      rule.lr = lr;
      internal::TESSERA_ISA::Update(rule.AtStep(t), args);
    }

   private:
    Rule rule_;
  };
  return CustomRule{rule.lr, std::make_shared<Executor>(rule)};
}

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CUSTOM_RULE_H_
