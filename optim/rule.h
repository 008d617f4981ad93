#ifndef TESSERA_OPTIM_RULE_H_
#define TESSERA_OPTIM_RULE_H_
// What an update rule is. A rule says how one row changes by its summed gradient; loops, sums,
// memory and devices belong to the executors, which are written once for all rules.
//
//   struct MyRule {
//     float lr = 0.01f;                            // options; every rule has lr
//     static constexpr const char* kName = "my_rule";
//     std::vector<StateSpec> States() const;       // what is remembered, by name
//     struct Step { … };                           // what one step computes with; plain values
//     Step AtStep(int64_t t) const;                // t = 1 at the first; powers of t, in double
//   };
//
// Step has three small functions over a Real, which is float (one CUDA lane, or the scalar
// reference) or a Pack of floats:
//
//   Real Statistic(Real g, Real w)
//       summed over the row in lane order (runtime/lanes.h); called if kHasStatistic.
//       Statistic(0, 0) must be 0
//   Row BeginRow(float sum, int64_t dim, float* row_state)
//       once a row; row_state has one float a per-row state
//   void Update(const Row&, Real& w, Real g, Real* element_state)
//       once an element, with its per-element states
//
// A Step with a member max_norm has its rows scaled back to that 2-norm afterwards (where
// max_norm > 0). States are values: the executor loads and stores them. Only + − × ÷, Sqrt and
// PowInteger (runtime/math.h) may be used, so that bits agree on every machine.
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/host_device.h"
#include "runtime/math.h"

namespace tessera {

// One thing a rule remembers: [E, D] (an element each) or [E] (a row each), f32, starting at 0.
struct StateSpec {
  std::string name;
  bool per_row = false;
};

inline constexpr int kMaxElementStates = 2;
inline constexpr int kMaxRowStates = 2;

}  // namespace tessera
#endif  // TESSERA_OPTIM_RULE_H_
