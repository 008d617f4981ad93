#ifndef TESSERA_OPTIM_ADAM_H_
#define TESSERA_OPTIM_ADAM_H_
// Adam on the touched rows (Kingma & Ba 2015; FBGEMM's ADAM), weight decay decoupled, and its
// partial row-wise form, whose second moment is one number a row (FBGEMM's PARTIAL_ROWWISE_ADAM):
//
//   m = β1·m + (1 − β1)·g;   v = β2·v + (1 − β2)·g²   (partial: mean_d(g²))
//   w −= lr·( m/(1 − β1^τ) / (√(v/(1 − β2^τ)) + eps) + weight_decay·w )
//
// τ is the step, or, with use_rowwise_bias_correction, how often this row was updated.
#include "optim/rule.h"

namespace tessera {

// 1/(1 − β1^τ) and 1/(1 − β2^τ).
struct AdamCorrection {
  float first, second;
  TESSERA_HD static AdamCorrection At(double beta1, double beta2, int64_t tau) {
    return {static_cast<float>(1.0 / (1.0 - PowInteger(beta1, tau))),
            static_cast<float>(1.0 / (1.0 - PowInteger(beta2, tau)))};
  }
};

// How a moment takes in what is new: m ← β·m + (1 − β)·x.
struct AdamMoment {
  float beta, rest;
  static AdamMoment Of(double beta) {
    return {static_cast<float>(beta), static_cast<float>(1.0 - beta)};
  }
  template <typename Real>
  TESSERA_HD Real Next(Real m, Real x) const {
    return Real(beta) * m + Real(rest) * x;
  }
};

struct Adam {
  float lr = 0.001f;
  float eps = 1e-8f;
  double beta1 = 0.9, beta2 = 0.999;
  float weight_decay = 0;
  bool use_rowwise_bias_correction = false;

  static constexpr const char* kName = "adam";
  std::vector<StateSpec> States() const {
    std::vector<StateSpec> states = {{"momentum1", false}, {"momentum2", false}};
    if (use_rowwise_bias_correction) states.push_back({"row_counter", true});
    return states;
  }

  struct Step {
    static constexpr bool kHasStatistic = false;
    static constexpr int kElementStates = 2, kRowStates = 1;
    float lr, eps, weight_decay;
    AdamMoment first, second;
    double beta1, beta2;
    AdamCorrection correction;
    bool by_row;

    using Row = AdamCorrection;
    TESSERA_HD Row BeginRow(float, int64_t, float* counter) const {
      if (!by_row) return correction;
      counter[0] += 1.0f;
      return AdamCorrection::At(beta1, beta2, static_cast<int64_t>(counter[0]));
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, Real& w, Real g, Real* state) const {
      state[0] = first.Next(state[0], g);
      state[1] = second.Next(state[1], g * g);
      const Real direction =
          state[0] * Real(row.first) / (Sqrt(state[1] * Real(row.second)) + Real(eps));
      w = w - Real(lr) * (direction + Real(weight_decay) * w);
    }
  };
  Step AtStep(int64_t t) const {
    return {lr,
            eps,
            weight_decay,
            AdamMoment::Of(beta1),
            AdamMoment::Of(beta2),
            beta1,
            beta2,
            AdamCorrection::At(beta1, beta2, t),
            use_rowwise_bias_correction};
  }
};

struct PartialRowwiseAdam {
  float lr = 0.001f;
  float eps = 1e-8f;
  double beta1 = 0.9, beta2 = 0.999;
  float weight_decay = 0;

  static constexpr const char* kName = "partial_rowwise_adam";
  std::vector<StateSpec> States() const { return {{"momentum1", false}, {"momentum2", true}}; }

  struct Step {
    static constexpr bool kHasStatistic = true;
    static constexpr int kElementStates = 1, kRowStates = 1;
    float lr, eps, weight_decay;
    AdamMoment first, second;
    AdamCorrection correction;

    struct Row {
      float first, denominator;
    };
    template <typename Real>
    TESSERA_HD Real Statistic(Real g, Real) const {
      return g * g;
    }
    TESSERA_HD Row BeginRow(float sum, int64_t dim, float* state) const {
      state[0] = second.Next(state[0], sum / static_cast<float>(dim));
      return {correction.first, Sqrt(state[0] * correction.second) + eps};
    }
    template <typename Real>
    TESSERA_HD void Update(const Row& row, Real& w, Real g, Real* state) const {
      state[0] = first.Next(state[0], g);
      w = w -
          Real(lr) * (state[0] * Real(row.first) / Real(row.denominator) + Real(weight_decay) * w);
    }
  };
  Step AtStep(int64_t t) const {
    return {lr,
            eps,
            weight_decay,
            AdamMoment::Of(beta1),
            AdamMoment::Of(beta2),
            AdamCorrection::At(beta1, beta2, t)};
  }
};

}  // namespace tessera
#endif  // TESSERA_OPTIM_ADAM_H_
