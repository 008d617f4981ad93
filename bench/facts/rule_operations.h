#ifndef TESSERA_BENCH_FACTS_RULE_OPERATIONS_H_
#define TESSERA_BENCH_FACTS_RULE_OPERATIONS_H_
// How many operations a rule does for an element of a row: its Step runs once over a Real that
// counts + − × ÷ √, max, min and sign, each as one.
#include <cstdint>
#include <type_traits>
#include <utility>
#include <variant>

#include "optim/any_rule.h"
#include "optim/rule_options.h"

namespace tessera::bench {

// A float that counts what is done with it.
class CountedReal {
 public:
  CountedReal() = default;
  explicit CountedReal(float v) : v_(v) {}

  // Operations of this thread since the last call.
  static int64_t TakeCount() { return std::exchange(count, 0); }

  friend CountedReal operator+(CountedReal a, CountedReal b) { return Done(a.v_ + b.v_); }
  friend CountedReal operator-(CountedReal a, CountedReal b) { return Done(a.v_ - b.v_); }
  friend CountedReal operator*(CountedReal a, CountedReal b) { return Done(a.v_ * b.v_); }
  friend CountedReal operator/(CountedReal a, CountedReal b) { return Done(a.v_ / b.v_); }
  friend CountedReal Sqrt(CountedReal a) { return Done(tessera::Sqrt(a.v_)); }
  friend CountedReal Max(CountedReal a, CountedReal b) { return Done(a.v_ > b.v_ ? a.v_ : b.v_); }
  friend CountedReal Min(CountedReal a, CountedReal b) { return Done(a.v_ < b.v_ ? a.v_ : b.v_); }
  friend CountedReal Sign(CountedReal a) { return Done(a.v_ < 0 ? -1.0f : 1.0f); }

 private:
  static CountedReal Done(float v) {
    ++count;
    return CountedReal(v);
  }
  static inline thread_local int64_t count = 0;
  float v_ = 0;
};

// The terms that the row's sums take, each with its addition, and the update. What is done once a
// row is not counted, and neither is max_norm, which is off unless a user sets it. 0 for Dense,
// which has no Step, and for a rule from outside the library, which cannot be asked.
template <typename Rule>
int64_t OperationsAnElement(const Rule& rule) {
  if constexpr (!kNamedRule<Rule> || std::is_same_v<Rule, Dense>) {
    return 0;
  } else {
    using Step = typename Rule::Step;
    const Step step = rule.AtStep(1);
    RowElement<CountedReal> x = {CountedReal(0.5f), CountedReal(0.25f)};
    CountedReal states[kMaxElementStates], terms[kMaxStatistics];
    float row_states[kMaxRowStates] = {}, sums[kMaxStatistics] = {};
    int64_t sums_taken = Step::kStatistics;
    CountedReal::TakeCount();
    if constexpr (Step::kStatistics > 0) step.Statistics(x, terms);
    auto row = step.BeginRow(sums, 1, row_states);
    if constexpr (requires { Step::kLateStatistics; }) {
      step.LateStatistics(row, x, states, terms);
      step.FinishRow(row, sums);
      sums_taken += Step::kLateStatistics;
    }
    step.Update(row, x, states);
    return CountedReal::TakeCount() + sums_taken;
  }
}

inline int64_t OperationsAnElement(const AnyRule& rule) {
  return std::visit([](const auto& r) { return OperationsAnElement(r); }, rule);
}

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_FACTS_RULE_OPERATIONS_H_
