#include "optim/warmup_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optim/combined_optimizer.h"
#include "tests/optim/optimizers_for_tests.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::MakeDense;
using testing::Ones;
using testing::SetGradient;
using ::testing::ThrowsMessage;

// The rate is halved for 2 iterations, then doubled for 1, then unchanged.
const std::vector<WarmupStage> kStages = {
    {.policy = WarmupPolicy::kConstant, .max_iters = 2, .value = 0.5},
    {.policy = WarmupPolicy::kConstant, .max_iters = 3, .value = 2}};

class WarmupOptimizerTest : public testing::DeviceTest {
 protected:
  std::shared_ptr<Optimizer> TwoGroups() {
    return std::make_shared<CombinedOptimizer>(std::vector<CombinedOptimizer::Part>{
        {"", MakeDense(ctx(), {Ones(ctx(), "a")}, "adagrad", 0.1)},
        {"", MakeDense(ctx(), {Ones(ctx(), "b")}, "sgd", 0.4)}});
  }
};

TEST_P(WarmupOptimizerTest, StepKUsesTheRateAfterKSteps) {
  NamedParameter p = Ones(ctx(), "p");
  WarmupOptimizer optimizer(MakeDense(ctx(), {p}), kStages, 0.5);
  std::vector<float> values, rates;
  for (int step = 0; step < 5; ++step) {
    rates.push_back(static_cast<float>(optimizer.GroupLearningRate(0)));
    SetGradient(ctx(), p, {1, 0});
    optimizer.Step(ctx());
    values.push_back(p.variable.value().ToVector<float>()[0]);
  }
  EXPECT_THAT(rates, ElementsAre(0.25f, 0.25f, 0.25f, 1, 0.5f));
  EXPECT_THAT(values, ElementsAre(0.75f, 0.5f, 0.25f, -0.75f, -1.25f));
  EXPECT_EQ(optimizer.schedule().iteration(), 5);
  EXPECT_EQ(optimizer.schedule().stage(), 2);
}

TEST_P(WarmupOptimizerTest, EveryGroupKeepsItsOwnBaseUnlessOneIsGiven) {
  WarmupOptimizer own(TwoGroups(), kStages), given(TwoGroups(), kStages, 1.0);
  EXPECT_DOUBLE_EQ(own.GroupLearningRate(0), 0.05);
  EXPECT_DOUBLE_EQ(own.GroupLearningRate(1), 0.2);
  EXPECT_DOUBLE_EQ(given.GroupLearningRate(0), 0.5);
  EXPECT_DOUBLE_EQ(given.GroupLearningRate(1), 0.5);
  own.SetLearningRate(7);  // holds until the next step
  EXPECT_EQ(own.GroupLearningRate(1), 7);
  for (int i = 0; i < 4; ++i) own.Step(ctx());
  EXPECT_DOUBLE_EQ(own.GroupLearningRate(0), 0.1);
  EXPECT_DOUBLE_EQ(own.GroupLearningRate(1), 0.4);
}

TEST_P(WarmupOptimizerTest, StateIsThatOfAParameterOfItsOwn) {
  WarmupOptimizer optimizer(TwoGroups(), kStages);
  EXPECT_THAT(optimizer.Keys(), ElementsAre("a", "b", "__warmup"));
  EXPECT_EQ(optimizer.Variables().size(), 2u);
  for (int i = 0; i < 3; ++i) optimizer.Step(ctx());
  const OptimizerStateDict state = optimizer.StateDict();
  ASSERT_EQ(state.size(), 2u);  // of a and of the schedule
  EXPECT_THAT(state.at("__warmup").at("warmup").ToVector<int64_t>(), ElementsAre(3, 1));

  WarmupOptimizer resumed(TwoGroups(), kStages);
  resumed.LoadStateDict(ctx(), state);
  EXPECT_EQ(resumed.GroupLearningRate(1), optimizer.GroupLearningRate(1));
  resumed.Step(ctx());
  EXPECT_EQ(resumed.schedule().stage(), 2);
  EXPECT_DOUBLE_EQ(resumed.GroupLearningRate(1), 0.4);
}

TEST_P(WarmupOptimizerTest, RefusesBadStateDictsAndChangesNothing) {
  WarmupOptimizer optimizer(TwoGroups(), kStages);
  const OptimizerStateDict good = optimizer.StateDict();
  const auto error_of = [&](const Tensor& position, const char* text) {
    OptimizerStateDict bad = good;
    bad["__warmup"] = {{"warmup", position}};
    EXPECT_THAT([&] { optimizer.LoadStateDict(ctx(), bad); },
                ThrowsMessage<Error>(HasSubstr(text)));
  };
  error_of(Tensor::From<int64_t>(ctx(), {1, 3}), "iteration 1 in stage 3");
  error_of(Tensor::From<int64_t>(ctx(), {-1, 0}), "iteration -1");
  error_of(Tensor::From<int64_t>(ctx(), {1, 0, 0}), "state 'warmup' of '__warmup'");
  error_of(Tensor::From<float>(ctx(), {1, 0}), "state 'warmup' of '__warmup'");
  OptimizerStateDict without = good;
  without.erase("__warmup");
  EXPECT_THAT([&] { optimizer.LoadStateDict(ctx(), without); },
              ThrowsMessage<Error>(HasSubstr("it lacks '__warmup'")));
  OptimizerStateDict moved = good;  // the schedule's part would do, the optimizer's does not
  moved["__warmup"] = {{"warmup", Tensor::From<int64_t>(ctx(), {3, 1})}};
  moved.erase("a");
  EXPECT_THAT([&] { optimizer.LoadStateDict(ctx(), moved); },
              ThrowsMessage<Error>(HasSubstr("it lacks 'a'")));
  EXPECT_EQ(optimizer.schedule().iteration(), 0);
  EXPECT_DOUBLE_EQ(optimizer.GroupLearningRate(0), 0.05);
}

// A step updates nothing if its next rate is no number.
TEST_P(WarmupOptimizerTest, ABadRateIsAnErrorBeforeTheStep) {
  NamedParameter p = Ones(ctx(), "p");
  WarmupOptimizer optimizer(
      MakeDense(ctx(), {p}),
      {{.policy = WarmupPolicy::kPoly, .max_iters = 9, .value = 0.5, .decay_iters = 1}});
  SetGradient(ctx(), p, {1, 1});
  optimizer.Step(ctx());
  const Tensor before = p.variable.value().Clone(ctx());
  EXPECT_THROW(optimizer.Step(ctx()), Error);
  EXPECT_TRUE(SameBits(p.variable.value(), before));
  EXPECT_EQ(optimizer.schedule().iteration(), 1);
}

TEST_P(WarmupOptimizerTest, RefusesWhatItCannotWrap) {
  EXPECT_THROW(WarmupOptimizer(nullptr, kStages), Error);
  const auto once = std::make_shared<WarmupOptimizer>(TwoGroups(), kStages);
  EXPECT_THAT([&] { WarmupOptimizer(once, kStages); },
              ThrowsMessage<Error>(HasSubstr("two parameters have the key '__warmup'")));
  EXPECT_EQ(WarmupOptimizer(once, kStages, {}, "__second").Keys().size(), 4u);
  EXPECT_THROW(WarmupOptimizer(TwoGroups(), kStages, INFINITY), Error);
}

TESSERA_INSTANTIATE_DEVICES(WarmupOptimizerTest);

}  // namespace
}  // namespace tessera
