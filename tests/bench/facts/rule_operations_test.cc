#include "bench/facts/rule_operations.h"

#include <gtest/gtest.h>

namespace tessera::bench {
namespace {

TEST(RuleOperationsTest, CountsWhatTheFormulaHas) {
  EXPECT_EQ(OperationsAnElement(AnyRule(Sgd())), 2) << "w − lr·g";
  EXPECT_EQ(OperationsAnElement(AnyRule(Adagrad())), 7) << "m + g·g; w − lr·g / (√m + eps)";
  EXPECT_EQ(OperationsAnElement(AnyRule(RowwiseAdagrad())), 5) << "Σ g·g; c·w − μ·g";
}

TEST(RuleOperationsTest, EveryRuleHasSome) {
  ForEachNamedRule([](const auto& rule) {
    const int64_t operations = OperationsAnElement(AnyRule(rule));
    const bool dense = std::is_same_v<std::decay_t<decltype(rule)>, Dense>;
    EXPECT_EQ(operations == 0, dense) << rule.kName;
  });
}

}  // namespace
}  // namespace tessera::bench
