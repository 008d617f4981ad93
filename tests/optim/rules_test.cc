// Each rule against its formula, in double and one element at a time.
// (tests/embedding/update_test.cc compares the machines.)
#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "optim/any_rule.h"
#include "runtime/check.h"
#include "runtime/lanes.h"

namespace tessera {
namespace {

constexpr int64_t kDim = 37;
constexpr int kSteps = 4;
using Row = std::vector<double>;

// One row under a rule, in float, as an executor without loops over packs would do it.
template <typename Rule>
class FloatRow {
 public:
  FloatRow(Rule rule, const Row& start) : rule_(rule), w_(start.begin(), start.end()) {
    for (auto& state : element_) state.assign(kDim, 0.0f);
  }
  void Update(int64_t t, const Row& g) {
    const auto step = rule_.AtStep(t);
    float lane[kLanes] = {};
    if constexpr (Rule::Step::kHasStatistic)
      for (int64_t d = 0; d < kDim; ++d)
        lane[d % kLanes] += step.Statistic(static_cast<float>(g[static_cast<size_t>(d)]),
                                           w_[static_cast<size_t>(d)]);
    const auto row = step.BeginRow(FoldLanes(lane), kDim, row_state_);
    for (size_t d = 0; d < kDim; ++d) {
      float state[kMaxElementStates] = {element_[0][d], element_[1][d]};
      step.Update(row, w_[d], static_cast<float>(g[d]), state);
      for (int s = 0; s < kMaxElementStates; ++s) element_[s][d] = state[s];
    }
  }
  const std::vector<float>& w() const { return w_; }

 private:
  Rule rule_;
  std::vector<float> w_, element_[kMaxElementStates];
  float row_state_[kMaxRowStates] = {};
};

// Runs kSteps steps of both; `formula(t, w, g)` changes w.
template <typename Rule, typename Formula>
void ExpectFormula(const Rule& rule, Formula&& formula) {
  std::mt19937 random(3);
  std::normal_distribution<float> normal;
  Row w(kDim);
  for (double& x : w) x = static_cast<double>(normal(random));
  FloatRow<Rule> row(rule, w);
  for (int64_t t = 1; t <= kSteps; ++t) {
    Row g(kDim);
    for (double& x : g) x = static_cast<double>(normal(random));
    row.Update(t, g);
    formula(static_cast<double>(t), w, g);
    for (size_t d = 0; d < kDim; ++d)
      ASSERT_NEAR(static_cast<double>(row.w()[d]), w[d], 2e-6 + 2e-6 * std::abs(w[d]))
          << "step " << t << ", element " << d;
  }
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

}  // namespace
}  // namespace tessera
