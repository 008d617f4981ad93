#ifndef TESSERA_TESTS_EMBEDDING_CUSTOM_RULE_ON_CUDA_H_
#define TESSERA_TESTS_EMBEDDING_CUSTOM_RULE_ON_CUDA_H_
// A rule that the library does not know, with a state of each kind: a step against the sign of a
// decaying sum of gradients, scaled by how often the row was seen.
#include "embedding/custom_rule.h"

namespace tessera::testing {

struct SignRule {
  float lr = 0.01f;
  static constexpr const char* kName = "sign";
  std::vector<StateSpec> States() const { return {{"sum", false}, {"seen", true}}; }

  struct Step {
    float lr;
    static constexpr int kStatistics = 1, kElementStates = 1, kRowStates = 1;
    struct Row {
      float rate;
    };
    template <typename Real>
    TESSERA_HD void Statistics(RowElement<Real> x, Real* terms) const {
      terms[0] = x.g * x.w;
    }
    TESSERA_HD Row BeginRow(const float* sums, int64_t dim, float* state) const {
      state[0] = state[0] + 1.0f;
      return {lr / Sqrt(state[0]) + sums[0] / static_cast<float>(dim) * 1e-3f};
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, RowElement<Real>& x, Real* state) const {
      state[0] = Real(0.5f) * state[0] + x.g;
      x.w = x.w - Real(row.rate) * state[0] / (Sqrt(state[0] * state[0]) + Real(1e-6f));
    }
  };
  Step AtStep(int64_t) const { return {lr}; }
};

inline AnyRule SignRuleOnCpu(float lr) { return MakeCustomRule(SignRule{lr}); }
AnyRule SignRuleOnCuda(float lr);  // custom_rule_on_cuda.cu

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_EMBEDDING_CUSTOM_RULE_ON_CUDA_H_
