#ifndef TESSERA_OPTIM_RULES_RULE_H_
#define TESSERA_OPTIM_RULES_RULE_H_
// A rule is a fused row optimizer. It says how one row changes by its summed gradient; loops, sums,
// memory, row types and devices belong to the executors, which are written once for all rules.
//
//   struct MyRule {
//     float lr = 0.01f;                            // options; every rule has lr
//     static constexpr const char* kName = "my_rule";
//     StateSpecs States() const;                   // what is remembered, by name
//     struct Step { … };                           // what one step computes with; plain values
//     Step AtStep(int64_t t) const;                // t = 1 at the first; powers of t, in double
//   };
//
// Step says how many states it computes with: kElementStates, as many as States() names (fewer in
// the library's rules that sweep tables, table_sweep.h), and kRowStates, at least as many (one that
// an option drops reads 0). It has small functions over a Real, which is float (one CUDA lane, or
// the scalar reference) or a Pack of floats:
//
//   void Statistics(RowElement<Real> x, Real* terms)     if kStatistics > 0
//       terms to be summed over the row, in lane order (runtime/numbers/lanes.h); 0 where x.g and
//       x.w are 0
//   Row BeginRow(const float* sums, int64_t dim, float* row_state)
//       once a row; row_state has one float a per-row state
//   void LateStatistics(const Row&, RowElement<Real> x, const Real* element_state, Real* terms)
//   void FinishRow(Row&, const float* sums)              if kLateStatistics > 0
//       a second look at the row, for steps that depend on sums of the new direction (LAMB)
//   void Update(const Row&, RowElement<Real>& x, Real* element_state)
//       once an element, with its per-element states; x.w is stored
//
// A Step with a member max_norm has its rows scaled back to that 2-norm afterwards (where
// max_norm > 0). States are values: the executor loads and stores them. Only + − × ÷ and the
// functions of runtime/numbers/math.h may be used, so that bits agree on every machine.
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <vector>

#include "runtime/base/check.h"
#include "runtime/base/host_device.h"
#include "runtime/numbers/math.h"

namespace tessera {

inline constexpr int kMaxElementStates = 2;
inline constexpr int kMaxRowStates = 3;
inline constexpr int kMaxStatistics = 2;

// One element of a row. Its parts have names, so that no rule can mistake one for the other.
template <typename Real>
struct RowElement {
  Real w;  // the weight
  Real g;  // the row's summed gradient
};

// One thing a rule remembers: [E, D] (an element each) or [E] (a row each), starting at 0. Of the
// table's state type, but f32 if it counts (steps, updates), which 16 bits can't.
struct StateSpec {
  std::string_view name;  // a literal: no copy is kept
  bool per_row = false;
  bool counts = false;
};

// All that a rule remembers, as a value that takes nothing from the heap: every step asks for it.
// Throws Error for more than kMaxElementStates + kMaxRowStates.
class StateSpecs {
 public:
  StateSpecs() = default;
  StateSpecs(std::initializer_list<StateSpec> specs) { Append(specs); }
  // Implicit, so that a rule may return a vector.
  StateSpecs(const std::vector<StateSpec>& specs) { Append(specs); }  // NOLINT

  void push_back(const StateSpec& spec) {
    TESSERA_CHECK_LT(size_, specs_.size(), "states of a rule: one more is '{}'", spec.name);
    specs_[size_++] = spec;
  }
  size_t size() const { return size_; }
  const StateSpec& operator[](size_t i) const { return specs_[i]; }
  const StateSpec* begin() const { return specs_.data(); }
  const StateSpec* end() const { return specs_.data() + size_; }

 private:
  template <typename Specs>
  void Append(const Specs& specs) {
    for (const StateSpec& spec : specs) push_back(spec);
  }

  std::array<StateSpec, kMaxElementStates + kMaxRowStates> specs_;
  size_t size_ = 0;
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULES_RULE_H_
