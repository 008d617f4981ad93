// Steps of dense optimizers that a CudaGraph records: each launch is a step, with its own
// corrections and its rate of the schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "optim/warmup_optimizer.h"
#include "runtime/graph.h"
#include "tests/optim/optimizers_for_tests.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using testing::MakeDense;
using testing::Ones;
using testing::SetGradient;
using ::testing::ThrowsMessage;

class RecordedOptimizerStepsTest : public testing::DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (on_cpu()) GTEST_SKIP() << "SKIPPED: a CPU has no graphs";
  }
  std::vector<NamedParameter> Parameters(int count) {
    std::vector<NamedParameter> parameters;
    for (int i = 0; i < count; ++i) {
      parameters.push_back(Ones(ctx(), "p" + std::to_string(i), {2, 1}));
      SetGradient(ctx(), parameters.back(), {0.5f, -0.25f * static_cast<float>(i)});
    }
    return parameters;
  }
  // Steps by launches beside plain steps, after one step of each.
  void ExpectLaunchesAreSteps(const DenseOptimizerConfig& config, int parameters, int steps) {
    const auto plain_of = Parameters(parameters), launched_of = Parameters(parameters);
    const auto optimizer_of = [&](const std::vector<NamedParameter>& of) {
      return WarmupOptimizer(
          std::make_shared<DenseOptimizer>(ctx(), of, config),
          {{.policy = WarmupPolicy::kLinear, .max_iters = steps / 2, .value = 0.25}}, 0.01);
    };
    WarmupOptimizer plain = optimizer_of(plain_of), launched = optimizer_of(launched_of);
    plain.Step(ctx());
    launched.Step(ctx());
    const CudaGraph graph = CudaGraph::Capture(ctx(), [&] { launched.Step(ctx()); });
    EXPECT_EQ(launched.schedule().iteration(), 1);
    for (int i = 0; i < steps; ++i) {
      graph.Launch(ctx());
      plain.Step(ctx());
    }
    EXPECT_EQ(launched.schedule().iteration(), plain.schedule().iteration());
    for (int p = 0; p < parameters; ++p) {
      const auto at = static_cast<size_t>(p);
      EXPECT_TRUE(SameBits(plain_of[at].variable.value(), launched_of[at].variable.value()));
    }
    const OptimizerStateDict expected = plain.StateDict(), state = launched.StateDict();
    for (const auto& [key, states] : expected)
      for (const auto& [name, tensor] : states)
        EXPECT_TRUE(SameBits(tensor, state.at(key).at(name))) << key << ' ' << name;
  }
};

TEST_P(RecordedOptimizerStepsTest, AThousandLaunchesOfAdamAreAThousandSteps) {
  ExpectLaunchesAreSteps(DenseOptimizerConfig("adam"), 2, 1000);
}

TEST_P(RecordedOptimizerStepsTest, EveryOptimizerGoesOn) {
  for (const std::string& name : DenseOptimizerConfig::AllNames()) {
    DenseOptimizerConfig config(name);
    if (name == "adagrad") config.lr_decay = 0.1;
    if (name == "sgd") config.momentum = 0.9;
    if (name == "adamw") config.amsgrad = true;
    SCOPED_TRACE(name);
    ExpectLaunchesAreSteps(config, 3, 20);
    ExpectLaunchesAreSteps(config, 70, 6);  // more than travel with a launch
  }
}

TEST_P(RecordedOptimizerStepsTest, AFirstStepThatMakesStatesIsRefused) {
  const auto optimizer = MakeDense(ctx(), Parameters(1), "adam");
  EXPECT_THAT([&] { CudaGraph::Capture(ctx(), [&] { optimizer->Step(ctx()); }); },
              ThrowsMessage<Error>(
                  AllOf(HasSubstr("optimizer adam on p0"), HasSubstr("take a step before"))));
}

TESSERA_INSTANTIATE_DEVICES(RecordedOptimizerStepsTest);

}  // namespace
}  // namespace tessera
