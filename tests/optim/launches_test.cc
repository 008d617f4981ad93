// The number of launches and waits of a step, as the emulator counts them.
#include <gtest/gtest.h>

#include "optim/gradient_clipping_optimizer.h"
#include "tests/optim/optimizers_for_tests.h"
#include "tools/emulation/emulation.h"

namespace tessera {
namespace {

class LaunchesTest : public ::testing::Test {
 protected:
  // Parameters of a few elements, with gradients.
  std::vector<NamedParameter> Parameters(int count) {
    std::vector<NamedParameter> parameters;
    for (int i = 0; i < count; ++i) {
      parameters.push_back(testing::Ones(ctx_, "p" + std::to_string(i), {1 + i % 3, 2}));
      parameters.back().variable.AccumulateGrad(
          ctx_, Tensor::Full(ctx_, parameters.back().variable.shape(), 1));
    }
    ctx_.Sync();
    return parameters;
  }
  // Launches of a step, which must not wait.
  int64_t LaunchesOf(Optimizer& optimizer) {
    optimizer.Step(ctx_);  // makes the states
    ctx_.Sync();
    const cuda_emulation::Counters before = cuda_emulation::Stats();
    optimizer.Step(ctx_);
    const cuda_emulation::Counters after = cuda_emulation::Stats();
    EXPECT_EQ(after.syncs, before.syncs);
    ctx_.Sync();
    return after.launches - before.launches;
  }

  Context ctx_{{.device = Device::Cuda()}};
};

TEST_F(LaunchesTest, OneForAllParametersHoweverMany) {
  for (const std::string& name : DenseOptimizerConfig::AllNames())
    for (const int count : {1, 32, 33, 200})
      EXPECT_EQ(LaunchesOf(*testing::MakeDense(ctx_, Parameters(count), name)), 1)
          << name << ", " << count;
}

TEST_F(LaunchesTest, AFewMoreForClipping) {
  for (const int count : {1, 200}) {
    GradientClippingOptimizer value(testing::MakeDense(ctx_, Parameters(count)),
                                    {.mode = GradientClipping::kValue}),
        norm(testing::MakeDense(ctx_, Parameters(count)), {.mode = GradientClipping::kNorm});
    EXPECT_EQ(LaunchesOf(value), 2);
    EXPECT_EQ(LaunchesOf(norm), 5);
  }
}

}  // namespace
}  // namespace tessera
