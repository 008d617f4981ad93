// Each rule against its formula, in double and one element at a time.
// (tests/embedding/update_test.cc compares the machines.)
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "embedding/check_rule.h"
#include "optim/any_rule.h"
#include "runtime/base/check.h"

namespace tessera {
namespace {

using Row = std::vector<double>;
constexpr int64_t kDim = RuleCheck().dim;

// `formula(t, w, g)` changes w.
template <typename Rule, typename Formula>
void ExpectFormula(const Rule& rule, Formula&& formula) {
  EXPECT_NO_THROW(CheckRule(rule, formula));
}

double MeanSquare(const Row& g) {
  double sum = 0;
  for (const double x : g) sum += x * x;
  return sum / static_cast<double>(g.size());
}

TEST(Rules, Sgd) {
  ExpectFormula(Sgd{0.25f}, [](double, Row& w, const Row& g) {
    for (size_t d = 0; d < kDim; ++d) w[d] -= 0.25 * g[d];
  });
}

TEST(Rules, Adagrad) {
  Row m(kDim);
  ExpectFormula(Adagrad{0.5f, 0.125f}, [&](double, Row& w, const Row& g) {
    for (size_t d = 0; d < kDim; ++d) {
      m[d] += g[d] * g[d];
      w[d] -= 0.5 * g[d] / (std::sqrt(m[d]) + 0.125);
    }
  });
}

TEST(Rules, RowwiseAdagradUnderEachWeightDecay) {
  for (const WeightDecayMode mode :
       {WeightDecayMode::kNone, WeightDecayMode::kL2, WeightDecayMode::kDecouple}) {
    double m = 0;
    ExpectFormula(RowwiseAdagrad{0.5f, 0.125f, 0.0625f, mode}, [&](double, Row& w, const Row& g) {
      Row decayed = g;
      if (mode == WeightDecayMode::kL2)
        for (size_t d = 0; d < kDim; ++d) decayed[d] += 0.0625 * w[d];
      m += MeanSquare(decayed);
      const double step = 0.5 / (std::sqrt(m) + 0.125);
      const double keep = mode == WeightDecayMode::kL2         ? 1 - step * 0.0625
                          : mode == WeightDecayMode::kDecouple ? 1 - 0.5 * 0.0625
                                                               : 1;
      for (size_t d = 0; d < kDim; ++d) w[d] = keep * w[d] - step * g[d];
    });
  }
}

TEST(Rules, Adam) {
  for (const bool by_row :
       {false, true}) {  // the row is updated in every step: both corrections are the same
    Row m(kDim), v(kDim);
    ExpectFormula(Adam{0.5f, 0.125f, 0.75, 0.875, 0.0625f, by_row},
                  [&](double t, Row& w, const Row& g) {
                    for (size_t d = 0; d < kDim; ++d) {
                      m[d] = 0.75 * m[d] + 0.25 * g[d];
                      v[d] = 0.875 * v[d] + 0.125 * g[d] * g[d];
                      w[d] -= 0.5 * (m[d] / (1 - std::pow(0.75, t)) /
                                         (std::sqrt(v[d] / (1 - std::pow(0.875, t))) + 0.125) +
                                     0.0625 * w[d]);
                    }
                  });
  }
}

TEST(Rules, PartialRowwiseAdam) {
  Row m(kDim);
  double v = 0;
  ExpectFormula(PartialRowwiseAdam{0.5f, 0.125f, 0.75, 0.875, 0.0625f},
                [&](double t, Row& w, const Row& g) {
                  v = 0.875 * v + 0.125 * MeanSquare(g);
                  for (size_t d = 0; d < kDim; ++d) {
                    m[d] = 0.75 * m[d] + 0.25 * g[d];
                    w[d] -= 0.5 * (m[d] / (1 - std::pow(0.75, t)) /
                                       (std::sqrt(v / (1 - std::pow(0.875, t))) + 0.125) +
                                   0.0625 * w[d]);
                  }
                });
}

double Norm(const Row& x) { return std::sqrt(MeanSquare(x) * static_cast<double>(x.size())); }

TEST(Rules, AdamWIsAdamWithDecoupledDecay) {
  Row m(kDim), v(kDim);
  ExpectFormula(AdamW{0.5f, 0.125f, 0.75, 0.875, 0.0625f}, [&](double t, Row& w, const Row& g) {
    for (size_t d = 0; d < kDim; ++d) {
      m[d] = 0.75 * m[d] + 0.25 * g[d];
      v[d] = 0.875 * v[d] + 0.125 * g[d] * g[d];
      w[d] = (1 - 0.5 * 0.0625) * w[d] - 0.5 * m[d] / (1 - std::pow(0.75, t)) /
                                             (std::sqrt(v[d] / (1 - std::pow(0.875, t))) + 0.125);
    }
  });
}

TEST(Rules, LambAndItsPartialRowwiseForm) {
  Row m(kDim), v(kDim);
  const auto move = [](Row& w, const Row& r) {
    const double rate = 0.5 * Norm(w) / Norm(r);
    for (size_t d = 0; d < kDim; ++d) w[d] -= rate * r[d];
  };
  ExpectFormula(Lamb{0.5f, 0.125f, 0.75, 0.875, 0.0625f}, [&](double t, Row& w, const Row& g) {
    Row r(kDim);
    for (size_t d = 0; d < kDim; ++d) {
      m[d] = 0.75 * m[d] + 0.25 * g[d];
      v[d] = 0.875 * v[d] + 0.125 * g[d] * g[d];
      r[d] = m[d] / (1 - std::pow(0.75, t)) / (std::sqrt(v[d] / (1 - std::pow(0.875, t))) + 0.125) +
             0.0625 * w[d];
    }
    move(w, r);
  });
  Row first(kDim);
  double second = 0;
  ExpectFormula(PartialRowwiseLamb{0.5f, 0.125f, 0.75, 0.875, 0.0625f},
                [&](double t, Row& w, const Row& g) {
                  Row r(kDim);
                  second = 0.875 * second + 0.125 * MeanSquare(g);
                  for (size_t d = 0; d < kDim; ++d) {
                    first[d] = 0.75 * first[d] + 0.25 * g[d];
                    r[d] = first[d] / (1 - std::pow(0.75, t)) /
                               (std::sqrt(second / (1 - std::pow(0.875, t))) + 0.125) +
                           0.0625 * w[d];
                  }
                  move(w, r);
                });
}

TEST(Rules, LarsSgd) {
  Row m(kDim);
  ExpectFormula(LarsSgd{0.5f, 0.25f, 0.75f, 0.0625f}, [&](double, Row& w, const Row& g) {
    const double rate = 0.5 * 0.25 * Norm(w) / (Norm(g) + 0.0625 * Norm(w));
    for (size_t d = 0; d < kDim; ++d) {
      m[d] = 0.75 * m[d] + rate * (g[d] + 0.0625 * w[d]);
      w[d] -= m[d];
    }
  });
}

TEST(Rules, MomentumSgdPlainAndNesterov) {
  for (const bool nesterov : {false, true}) {
    Row m(kDim);
    ExpectFormula(MomentumSgd{0.5f, 0.75f, 0.0625f, nesterov}, [&](double, Row& w, const Row& g) {
      for (size_t d = 0; d < kDim; ++d) {
        const double decayed = g[d] + 0.0625 * w[d];
        m[d] = 0.75 * m[d] + decayed;
        w[d] -= 0.5 * (nesterov ? decayed + 0.75 * m[d] : m[d]);
      }
    });
  }
}

TEST(Rules, Lion) {
  Row m(kDim);
  ExpectFormula(Lion{0.125f, 0.75, 0.875, 0.0625f}, [&](double, Row& w, const Row& g) {
    for (size_t d = 0; d < kDim; ++d) {
      const double look = 0.75 * m[d] + 0.25 * g[d];
      w[d] -= 0.125 * ((look > 0 ? 1 : look < 0 ? -1 : 0) + 0.0625 * w[d]);
      m[d] = 0.875 * m[d] + 0.125 * g[d];
    }
  });
}

TEST(Rules, FtrlProximal) {
  Row z(kDim), n(kDim);
  int zeros = 0;
  ExpectFormula(Ftrl{0.5f, 1.0f, 0.5f, 0.25f}, [&](double, Row& w, const Row& g) {
    for (size_t d = 0; d < kDim; ++d) {
      const double sigma = (std::sqrt(n[d] + g[d] * g[d]) - std::sqrt(n[d])) / 0.5;
      z[d] += g[d] - sigma * w[d];
      n[d] += g[d] * g[d];
      const double sign = z[d] < 0 ? -1 : 1;
      w[d] =
          std::abs(z[d]) <= 0.5 ? 0 : -(z[d] - sign * 0.5) / ((1 + std::sqrt(n[d])) / 0.5 + 0.25);
      zeros += w[d] == 0.0;
    }
  });
  EXPECT_GT(zeros, 0);
}

TEST(Rules, RowwiseRmspropShrinksRowsByTheTimeTheyWereAway) {
  double v = 0;
  ExpectFormula(RowwiseRmspropAr{0.5f, 0.125f, 0.75, 0.25f, 0.5f},
                [&](double, Row& w, const Row& g) {
                  v = 0.75 * v + 0.25 * MeanSquare(g);
                  for (size_t d = 0; d < kDim; ++d)
                    w[d] = (1 - 0.5 * 0.25) * w[d] - 0.5 / (std::sqrt(v) + 0.125) * g[d];
                });
  const auto step = RowwiseRmspropAr{0.5f, 0.125f, 0.75, 0.25f, 0.5f}.AtStep(9);
  const float sums[] = {0};
  float state[] = {1, 7};
  EXPECT_EQ(step.BeginRow(sums, 4, state).keep, 1 - 0.5f * 0.25f * 2);
  EXPECT_EQ(state[1], 9);
  state[1] = 1;
  EXPECT_EQ(step.BeginRow(sums, 4, state).keep, 0.5f);  // min_shrinkage
}

TEST(Rules, CountersForget) {
  float state[] = {4, 3};  // prev_iter, row_counter
  EXPECT_NEAR(CountRow(10, 3, state).count, 1 + 3 * 0.25, 1e-6);
  EXPECT_EQ(state[0], 10);
  EXPECT_EQ(CountRow(12, 0, state).count, 1);
  EXPECT_EQ(CountRow(13, -1, state).count, 2);
}

TEST(Rules, GlobalDecayOwesWhatWasMissed) {
  const GlobalDecayRowwiseAdagrad rule{.lr = 0.5f, .weight_decay = 0.5f, .lower_bound = 0.4f};
  EXPECT_EQ(rule.OwedAt(9).Factor(0), 1);
  EXPECT_EQ(rule.OwedAt(9).Factor(8), 1);
  EXPECT_EQ(rule.OwedAt(9).Factor(6), 0.75f * 0.75f);
  EXPECT_EQ(rule.OwedAt(9).Factor(1), 0.4f);
}

TEST(Rules, SweepsHappenWhenTheirStepComes) {
  const AnyRule ensemble = EnsembleRowwiseAdagrad{
      .step_ema = 2, .step_swap = 3, .step_start = 4, .step_ema_coef = 0.25f};
  EXPECT_FALSE(SweepAt(ensemble, 1).any());
  EXPECT_EQ(SweepAt(ensemble, 4).follow, 1);
  EXPECT_EQ(SweepAt(ensemble, 6).follow, 0.75f);
  EXPECT_TRUE(SweepAt(ensemble, 3).swap && !SweepAt(ensemble, 3).ema);
  const AnyRule halves = EmaInPlaceRowwiseAdagrad{.step_ema = 2, .step_start = 3};
  EXPECT_FALSE(SweepAt(halves, 2).any());
  EXPECT_TRUE(SweepAt(halves, 4).halves);
  EXPECT_FALSE(SweepAt(Sgd{}, 4).any());
}

TEST(AnyRule, RefusesOptionsThatMakeNoSense) {
  EXPECT_NO_THROW(CheckRule(Adam{}));
  EXPECT_THROW(CheckRule(Adam{.beta1 = 1.0}), Error);
  EXPECT_THROW(CheckRule(Sgd{-1.0f}), Error);
  EXPECT_THROW(CheckRule(Sgd{std::numeric_limits<float>::infinity()}), Error);
  EXPECT_THROW(CheckRule(MomentumSgd{.momentum = -3}), Error);
  EXPECT_THROW(CheckRule(MomentumSgd{.momentum = std::nanf("")}), Error);
  EXPECT_THROW(CheckRule(LarsSgd{.momentum = 1.5f}), Error);
  EXPECT_THROW(CheckRule(LarsSgd{.eta = -1}), Error);
  EXPECT_THROW(CheckRule(RowwiseAdagrad{.max_norm = -1}), Error);
  EXPECT_THROW(CheckRule(RowwiseRmspropAr{.ema_beta = 1.5}), Error);
  EXPECT_THROW(CheckRule(Ftrl{.l1 = -1}), Error);
  EXPECT_THROW(CheckRule(Dense{.lr = -1}), Error);
  EXPECT_THROW(CheckRule(RowwiseAdagrad{.weight_decay_mode = WeightDecayMode::kAdagradW}), Error);
  EXPECT_THROW(CheckRule(EmaInPlaceRowwiseAdagrad{.step_ema = 0}), Error);
  EXPECT_THROW(CheckDimOfRule(EmaInPlaceRowwiseAdagrad{}, 7), Error);
  EXPECT_NO_THROW(CheckDimOfRule(EmaInPlaceRowwiseAdagrad{}, 8));
  EXPECT_NO_THROW(CheckDimOfRule(Adam{}, 7));
}

TEST(AnyRule, NamesStatesAndLearningRates) {
  AnyRule rule = RowwiseAdagrad{.lr = 0.5f};
  EXPECT_STREQ(RuleName(rule), "rowwise_adagrad");
  ASSERT_EQ(RuleStates(rule).size(), 1u);
  EXPECT_EQ(RuleStates(rule)[0].name, "momentum1");
  EXPECT_TRUE(RuleStates(rule)[0].per_row);
  SetLearningRate(rule, 0.125f);
  EXPECT_EQ(LearningRate(rule), 0.125f);
  EXPECT_EQ(RuleStates(Adam{}).size(), 2u);
  EXPECT_EQ(RuleStates(Adam{.use_rowwise_bias_correction = true}).size(), 3u);
  EXPECT_EQ(ParseWeightDecayMode("DECOUPLE"), WeightDecayMode::kDecouple);
  EXPECT_THROW(ParseWeightDecayMode("L3"), Error);
}

TEST(StateSpecs, HoldWhatARuleMayRemember) {
  const std::vector<StateSpec> most(kMaxElementStates + kMaxRowStates, {"state", true});
  const StateSpecs specs = most;
  EXPECT_EQ(specs.size(), most.size());
  EXPECT_EQ(specs[most.size() - 1].name, "state");
  EXPECT_THROW(StateSpecs(specs).push_back({"one more"}), Error);
}

}  // namespace
}  // namespace tessera
