#include "optim/warmup_schedule.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "runtime/base/check.h"

namespace tessera {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;
using enum WarmupPolicy;

// Factors before the first step and after each.
std::vector<double> Factors(const std::vector<WarmupStage>& stages, int64_t steps) {
  WarmupSchedule schedule(stages);
  std::vector<double> factors = {schedule.multiplier()};
  for (int64_t i = 0; i < steps; ++i) {
    schedule.Step();
    factors.push_back(schedule.multiplier());
  }
  return factors;
}

struct PolicyCase {
  WarmupStage stage;
  std::function<double(double)> factor;  // by iteration
};

// A stage of 6 iterations: 0 to 6 are its own, from 7 on the factor is 1.
class Policies : public ::testing::TestWithParam<PolicyCase> {};

TEST_P(Policies, FollowTheirFormula) {
  const auto& [stage, factor] = GetParam();
  const std::vector<double> got = Factors({stage}, 9);
  for (size_t i = 0; i < got.size(); ++i)
    EXPECT_NEAR(got[i], i <= 6 ? factor(static_cast<double>(i)) : 1.0, 1e-15) << i;
}
INSTANTIATE_TEST_SUITE_P(
    All, Policies,
    ::testing::Values(PolicyCase{{.policy = kNone, .max_iters = 6, .value = 9, .lr_scale = 0.5},
                                 [](double) { return 0.5; }},
                      PolicyCase{{.policy = kLinear, .max_iters = 6, .value = 0.25},
                                 [](double i) { return 0.25 + 0.75 * i / 6; }},
                      PolicyCase{{.policy = kLinear, .max_iters = 6, .value = 0, .lr_scale = 3},
                                 [](double i) { return 3 * i / 6; }},
                      PolicyCase{{.policy = kConstant, .max_iters = 6, .value = 0.75},
                                 [](double) { return 0.75; }},
                      PolicyCase{{.policy = kPoly, .max_iters = 6, .value = 2},
                                 [](double i) { return (1 - i / 6) * (1 - i / 6); }},
                      PolicyCase{{.policy = kPoly, .max_iters = 6, .value = 0.5, .decay_iters = 8},
                                 [](double i) { return std::sqrt(1 - i / 8); }},
                      // Past its end a polynomial goes on, where it is a number.
                      PolicyCase{{.policy = kPoly, .max_iters = 6, .value = 1, .decay_iters = 4},
                                 [](double i) { return 1 - i / 4; }},
                      PolicyCase{{.policy = kStep, .max_iters = 6, .value = 0.5},
                                 [](double i) { return std::pow(0.5, i); }},
                      PolicyCase{{.policy = kStep, .max_iters = 6, .value = 0.5, .decay_iters = 4},
                                 [](double i) { return i < 4 ? 1 : 0.5; }},
                      PolicyCase{{.policy = kCosineAnnealingWarmRestarts,
                                  .max_iters = 6,
                                  .value = 0.2,
                                  .sgdr_period = 3},
                                 [](double i) {
                                   return 0.2 +
                                          0.8 * 0.5 * (1 + std::cos(M_PI * std::fmod(i, 3) / 3));
                                 }},
                      PolicyCase{{.policy = kCosineAnnealingWarmRestarts, .max_iters = 6},
                                 [](double) { return 1.0; }},
                      PolicyCase{{.policy = kInterpolate,
                                  .max_iters = 6,
                                  .value = 2,
                                  .start_interpolating_iters = 1,
                                  .end_value = 1},
                                 [](double i) { return 2 - (i - 1) / 5; }}));

TEST(WarmupSchedule, CountsOnFromStageToStage) {
  const std::vector<double> got = Factors({{.policy = kConstant, .max_iters = 2, .value = 0.5},
                                           {.policy = kInvSqrt, .max_iters = 5, .lr_scale = 2}},
                                          7);
  const std::vector<double> expected = {
      0.5, 0.5, 0.5, 2 / std::sqrt(3.0), 2 / std::sqrt(4.0), 2 / std::sqrt(5.0), 1, 1};
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-15) << i;
}

TEST(WarmupSchedule, KnowsWhereItStands) {
  WarmupSchedule schedule({{.policy = kConstant, .max_iters = 1, .value = 0.5},
                           {.policy = kLinear, .max_iters = 2, .value = 0}});
  const std::vector<std::pair<int64_t, int64_t>> expected = {
      {0, 0}, {1, 0}, {2, 1}, {3, 2}, {4, 2}};
  for (const auto& [iteration, stage] : expected) {
    EXPECT_EQ(schedule.iteration(), iteration);
    EXPECT_EQ(schedule.stage(), stage);
    WarmupSchedule other = schedule;
    other.SetPosition(0, 0);
    other.SetPosition(iteration, stage);
    EXPECT_EQ(other.multiplier(), schedule.multiplier());
    schedule.Step();
  }
  EXPECT_EQ(schedule.LearningRate(0.25), 0.25);
  EXPECT_THROW(schedule.SetPosition(-1, 0), Error);
  EXPECT_THROW(schedule.SetPosition(0, 3), Error);
  EXPECT_THROW(schedule.SetPosition(0, -1), Error);
}

TEST(WarmupSchedule, WithoutStagesIsConstant) {
  for (const double factor : Factors({}, 3)) EXPECT_EQ(factor, 1);
}

TEST(WarmupSchedule, RefusesStagesThatMakeNoSense) {
  const auto error_of = [](const std::vector<WarmupStage>& stages, const char* text) {
    EXPECT_THAT([&] { WarmupSchedule schedule(stages); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  error_of({{.policy = kLinear, .max_iters = 0}},
           "warmup stage 0 (linear): max_iters 0; expected more than 0");
  error_of({{.policy = kLinear, .max_iters = 5}, {.policy = kConstant, .max_iters = 5}},
           "warmup stage 1 (constant): max_iters 5; expected more than 5");
  error_of({{.policy = kInvSqrt, .max_iters = 5}}, "warmup stage 0 (inv_sqrt)");
  error_of({{.policy = kCosineAnnealingWarmRestarts, .max_iters = 5, .sgdr_period = 0}},
           "sgdr_period 0; expected at least 1");
  error_of({{.policy = kInterpolate, .max_iters = 5, .start_interpolating_iters = 5}},
           "start_interpolating_iters and max_iters are both 5");
  error_of({{.max_iters = 5, .value = std::nan("")}}, "value nan");
  error_of({{.max_iters = 5, .lr_scale = INFINITY}}, "lr_scale inf");
}

TEST(WarmupSchedule, FindsFactorsThatNoRateCanHave) {
  const auto check = [](const WarmupStage& second) {
    WarmupSchedule({{.policy = kConstant, .max_iters = 2, .value = 0}, second}).CheckFactors();
  };
  EXPECT_NO_THROW(check({.policy = kPoly, .max_iters = 6, .value = 2, .decay_iters = 4}));
  EXPECT_THAT([&] { check({.policy = kPoly, .max_iters = 6, .value = 0.5, .decay_iters = 4}); },
              ThrowsMessage<Error>(HasSubstr("stage 1 (poly): the learning rate's factor at "
                                             "iteration 6 is ")));
  WarmupStage line{.policy = kInterpolate, .max_iters = 20, .value = 0.1, .end_value = 0.8};
  line.start_interpolating_iters = 9;
  EXPECT_THAT([&] { check(line); }, ThrowsMessage<Error>(HasSubstr("at iteration 3 is -")));
}

// 0 to a negative power, and the root of a negative number.
TEST(WarmupSchedule, RefusesRatesThatAreNoNumbersAndStays) {
  for (const WarmupStage stage :
       {WarmupStage{.policy = kPoly, .max_iters = 2, .value = -1},
        WarmupStage{.policy = kPoly, .max_iters = 9, .value = 0.5, .decay_iters = 1}}) {
    WarmupSchedule schedule({stage});
    schedule.Step();
    const double before = schedule.multiplier();
    EXPECT_THAT([&] { schedule.Step(); }, ThrowsMessage<Error>(HasSubstr("at iteration 2 is")));
    EXPECT_EQ(schedule.iteration(), 1);
    EXPECT_EQ(schedule.multiplier(), before);
  }
}

TEST(WarmupPolicyTest, NamesGoBothWays) {
  for (const WarmupPolicy policy : AllWarmupPolicies())
    EXPECT_EQ(ParseWarmupPolicy(ToString(policy)), policy);
  EXPECT_EQ(AllWarmupPolicies().size(), 8u);
  EXPECT_THAT([] { ParseWarmupPolicy("cosine"); },
              ThrowsMessage<Error>(HasSubstr("expected one of none, linear")));
}

}  // namespace
}  // namespace tessera
