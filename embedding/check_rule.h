#ifndef TESSERA_EMBEDDING_CHECK_RULE_H_
#define TESSERA_EMBEDDING_CHECK_RULE_H_
// Holds a rule (optim/rules/rule.h) against its formula in double, for tests of your own rules.
//
//   std::vector<double> m(RuleCheck().dim);  // what the formula remembers
//   CheckRule(MyAdagrad{.lr = 0.5f}, [&](double t, std::vector<double>& w,
//                                        const std::vector<double>& g) {
//     for (size_t d = 0; d < w.size(); ++d) {
//       m[d] += g[d] * g[d];
//       w[d] -= 0.5 * g[d] / std::sqrt(m[d]);
//     }
//   });
//
// One row takes some steps of normal gradients three times over: by the formula, by the rule in
// float one element after another, and by the rule over packs as a backward runs it. The last two
// must agree bit by bit.
#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "embedding/custom_rule.h"
#include "runtime/base/check.h"
#include "runtime/numbers/lanes.h"

namespace tessera {

struct RuleCheck {
  int64_t dim = 37;         // whole packs, and a rest
  int steps = 4;            // t = 1, 2, …
  double tolerance = 2e-6;  // of |float − double|, plus as much again of |double|
  uint32_t seed = 3;        // of weights and gradients
};

namespace internal {

// One row under a rule, in float, as an executor without packs has it.
template <typename Rule>
class CheckedRow {
 public:
  using Floats = std::vector<float>;

  CheckedRow(const Rule& rule, const Floats& start) : rule_(rule), w_(start) {
    for (Floats& state : element_) state.assign(start.size(), 0.0f);
  }
  const Floats& w() const { return w_; }

  void Update(int64_t t, const Floats& g) {
    const auto step = rule_.AtStep(t);
    float sums[kMaxStatistics] = {};
    if constexpr (Rule::Step::kStatistics > 0)
      Sum(sums, [&](size_t d, float* terms) {
        step.Statistics(RowElement<float>{w_[d], g[d]}, terms);
      });
    auto row = step.BeginRow(sums, static_cast<int64_t>(w_.size()), row_state_);
    if constexpr (HasLateStatistics<typename Rule::Step>) {
      Sum(sums, [&](size_t d, float* terms) {
        const float state[kMaxElementStates] = {element_[0][d], element_[1][d]};
        step.LateStatistics(row, RowElement<float>{w_[d], g[d]}, state, terms);
      });
      step.FinishRow(row, sums);
    }
    for (size_t d = 0; d < w_.size(); ++d) {
      float state[kMaxElementStates] = {element_[0][d], element_[1][d]};
      RowElement<float> x = {w_[d], g[d]};
      step.Update(row, x, state);
      w_[d] = x.w;
      for (int s = 0; s < kMaxElementStates; ++s) element_[s][d] = state[s];
    }
    if constexpr (requires { step.max_norm; }) LimitNorm(step.max_norm);
  }

 private:
  template <typename Terms>
  void Sum(float* sums, Terms&& terms_of) const {
    float lane[kMaxStatistics][kLanes] = {};
    for (size_t d = 0; d < w_.size(); ++d) {
      float terms[kMaxStatistics] = {};
      terms_of(d, terms);
      for (int k = 0; k < kMaxStatistics; ++k) lane[k][d % kLanes] += terms[k];
    }
    for (int k = 0; k < kMaxStatistics; ++k) sums[k] = FoldLanes(lane[k]);
  }
  void LimitNorm(float max_norm) {
    float square[kMaxStatistics] = {};
    Sum(square, [&](size_t d, float* terms) { terms[0] = w_[d] * w_[d]; });
    const float norm = Sqrt(square[0]);
    if (!(max_norm > 0 && norm > max_norm)) return;
    for (float& w : w_) w = w * (max_norm / norm);
  }

  Rule rule_;
  Floats w_, element_[kMaxElementStates];
  float row_state_[kMaxRowStates] = {};
};

// The row under the executor that a backward calls.
template <typename Rule>
class ExecutedRow {
 public:
  using Floats = std::vector<float>;

  ExecutedRow(const Rule& rule, const Floats& start) : rule_(rule), w_(start) {
    for (Floats& state : element_) state.assign(start.size(), 0.0f);
  }
  const Floats& w() const { return w_; }

  void Update(int64_t t, const Floats& g) {
    const Occurrence<uint32_t> once = {0, 0};
    RowUpdateArgs args;
    args.table.weights = w_.data();
    args.table.dim = static_cast<int64_t>(w_.size());
    args.table.step = t;
    for (int s = 0; s < kMaxElementStates; ++s)
      args.table.element_states[s].data = element_[s].data();
    int row_states = 0;
    for (const StateSpec& state : rule_.States()) {
      if (!state.per_row) continue;
      args.table.row_states[row_states].data = row_state_ + row_states;
      ++row_states;
    }
    args.occurrences = &once;
    args.end = 1;
    args.grad = args.summed = g.data();
    TESSERA_ISA::Update(rule_.AtStep(t), args);
  }

 private:
  Rule rule_;
  Floats w_, element_[kMaxElementStates];
  float row_state_[kMaxRowStates] = {};
};

inline std::vector<float> NormalRow(int64_t dim, std::mt19937& random) {
  std::normal_distribution<float> normal;
  std::vector<float> row(static_cast<size_t>(dim));
  for (float& x : row) x = normal(random);
  return row;
}

}  // namespace internal

// formula(double t, std::vector<double>& w, const std::vector<double>& g) changes w. Throws Error
// that names rule, step and element where the rule differs from it, for a rule that no table takes,
// and for a `check` of no element or no step.
template <typename Rule, typename Formula>
void CheckRule(const Rule& rule, Formula&& formula, const RuleCheck& check = {}) {
  TESSERA_CHECK_GE(check.dim, 1, "rule {}: a RuleCheck's dim", Rule::kName);
  TESSERA_CHECK_GE(check.steps, 1, "rule {}: a RuleCheck's steps", Rule::kName);
  CheckRule(MakeCustomRule(rule));
  std::mt19937 random(check.seed);
  const std::vector<float> start = internal::NormalRow(check.dim, random);
  internal::CheckedRow<Rule> row(rule, start);
  internal::ExecutedRow<Rule> executed(rule, start);
  std::vector<double> w(start.begin(), start.end());
  for (int t = 1; t <= check.steps; ++t) {
    const std::vector<float> g = internal::NormalRow(check.dim, random);
    row.Update(t, g);
    executed.Update(t, g);
    formula(static_cast<double>(t), w, std::vector<double>(g.begin(), g.end()));
    for (size_t d = 0; d < w.size(); ++d) {
      const float got = row.w()[d], packed = executed.w()[d];
      TESSERA_CHECK(
          std::abs(static_cast<double>(got) - w[d]) <= check.tolerance * (1 + std::abs(w[d])),
          "rule {}, step {}, element {}: expected {} by the formula, got {}", Rule::kName, t, d,
          w[d], got);
      TESSERA_CHECK(std::bit_cast<uint32_t>(got) == std::bit_cast<uint32_t>(packed),
                    "rule {}, step {}, element {}: {} one element after another, {} over packs",
                    Rule::kName, t, d, got, packed);
    }
  }
}

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_CHECK_RULE_H_
