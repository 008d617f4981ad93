#ifndef TESSERA_TESTS_TESTING_RULES_H_
#define TESSERA_TESTS_TESTING_RULES_H_
// Every rule of the library that updates rows, with options of each kind, to run a test on each.
#include <vector>

#include "optim/any_rule.h"

namespace tessera::testing {

inline CounterRowwiseAdagrad CounterRule(WeightDecayMode decay, CounterRateMode rate,
                                         int64_t halflife) {
  CounterRowwiseAdagrad rule;
  rule.lr = 0.1f;
  rule.eps = 1e-4f;
  rule.weight_decay = 0.05f;
  rule.weight_decay_mode = decay;
  rule.learning_rate_mode = rate;
  rule.counter_halflife = halflife;
  rule.adjustment_ub = 0.7;
  rule.max_counter = 6;
  return rule;
}

inline const std::vector<AnyRule>& AllRules() {
  using Decay = WeightDecayMode;
  using Rate = CounterRateMode;
  static const std::vector<AnyRule> rules = {
      Sgd{0.1f},
      MomentumSgd{0.1f, 0.9f, 0.01f, false},
      MomentumSgd{0.1f, 0.9f, 0.01f, true},
      LarsSgd{0.1f, 0.05f, 0.9f, 0.01f},
      Adagrad{0.1f, 1e-6f},
      RowwiseAdagrad{0.1f, 1e-6f},
      RowwiseAdagrad{0.1f, 1e-6f, 0.02f, Decay::kL2},
      RowwiseAdagrad{0.1f, 1e-6f, 0.02f, Decay::kDecouple, 2.0f},
      CounterRule(Decay::kL2, Rate::kTailIdLrIncrease, 4),
      CounterRule(Decay::kDecouple, Rate::kTailIdLrDecrease, -1),
      CounterRule(Decay::kAdagradW, Rate::kCounterSgd, -2),
      CowClipRowwiseAdagrad{0.1f, 1e-4f, 0.1f, Decay::kL2, 5, 0.1f, 0.01f},
      GlobalDecayRowwiseAdagrad{0.1f, 1e-6f, 0.5f, 2.0f, 0, 0.1f},
      EnsembleRowwiseAdagrad{.lr = 0.1f, .step_ema = 2, .step_swap = 3},
      EmaInPlaceRowwiseAdagrad{.lr = 0.1f, .step_ema = 2},
      RowwiseRmspropAr{0.1f, 1e-2f, 0.9, 0.5f, 0.2f},
      Adam{0.1f, 1e-6f, 0.9, 0.99, 0.01f},
      Adam{0.1f, 1e-6f, 0.9, 0.99, 0.0f, true},
      AdamW{0.1f, 1e-6f, 0.9, 0.99, 0.01f},
      PartialRowwiseAdam{0.1f, 1e-6f, 0.9, 0.99, 0.01f},
      Lamb{0.1f, 1e-6f, 0.9, 0.99, 0.01f},
      PartialRowwiseLamb{0.1f, 1e-6f, 0.9, 0.99, 0.01f},
      Lion{0.1f, 0.9, 0.99, 0.01f},
      Ftrl{0.1f, 1.0f, 0.2f, 0.1f}};
  return rules;
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TESTING_RULES_H_
