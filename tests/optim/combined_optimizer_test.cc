#include "optim/combined_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

class CombinedOptimizerTest : public testing::DeviceTest {
 protected:
  // Groups of {a, b}, adagrad with lr 0.1, and {a}, sgd with lr 0.2.
  CombinedOptimizer Make(const std::string& first, const std::string& second) {
    return CombinedOptimizer({{first, MakeDense(ctx(), {p_[0], p_[1]}, "adagrad")},
                              {second, MakeDense(ctx(), {p_[2]}, "sgd", 0.2)}});
  }
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    p_ = {Ones(ctx(), "a"), Ones(ctx(), "b"), Ones(ctx(), "a")};
  }

  std::vector<NamedParameter> p_;
};

TEST_P(CombinedOptimizerTest, KeysHaveThePrefix) {
  const CombinedOptimizer optimizer = Make("one", "");
  EXPECT_THAT(optimizer.Keys(), ElementsAre("one.a", "one.b", "a"));
  std::vector<std::string> names;
  for (const NamedParameter& v : optimizer.Variables()) names.push_back(v.name);
  EXPECT_EQ(names, optimizer.Keys());
  EXPECT_TRUE(optimizer.Variables()[2].variable.is(p_[2].variable));
  std::vector<std::string> with_state;
  for (const auto& [key, states] : optimizer.StateDict()) with_state.push_back(key);
  EXPECT_THAT(with_state, ElementsAre("one.a", "one.b"));  // sgd remembers nothing
}

TEST_P(CombinedOptimizerTest, AKeyThatIsThereTwiceIsAnError) {
  EXPECT_THAT([&] { Make("", ""); },
              ThrowsMessage<Error>(HasSubstr("two parameters have the key 'a'")));
  EXPECT_THAT([&] { Make("x", "x"); },
              ThrowsMessage<Error>(HasSubstr("two parameters have the key 'x.a'")));
  EXPECT_THROW(CombinedOptimizer({{"", nullptr}}), Error);
}

TEST_P(CombinedOptimizerTest, StepsAllParts) {
  CombinedOptimizer optimizer = Make("x", "y");
  SetGradient(ctx(), p_[0], {1, -1});
  SetGradient(ctx(), p_[2], {1, 2});
  optimizer.Step(ctx());
  EXPECT_THAT(p_[0].variable.value().ToVector<float>(), ElementsAre(0.9f, 1.1f));
  EXPECT_THAT(p_[1].variable.value().ToVector<float>(), ElementsAre(1, 1));
  EXPECT_THAT(p_[2].variable.value().ToVector<float>(), ElementsAre(0.8f, 0.6f));
  optimizer.ZeroGrad();
  for (const NamedParameter& p : p_) EXPECT_FALSE(p.variable.grad().defined());
}

TEST_P(CombinedOptimizerTest, GroupsAreThoseOfTheParts) {
  CombinedOptimizer optimizer = Make("x", "y");
  ASSERT_EQ(optimizer.num_groups(), 2);
  EXPECT_EQ(optimizer.GroupLearningRate(0), 0.1);
  EXPECT_EQ(optimizer.GroupLearningRate(1), 0.2);
  optimizer.SetGroupLearningRate(1, 0.5);
  EXPECT_EQ(optimizer.GroupLearningRate(0), 0.1);
  const std::vector<ParamGroup> groups = optimizer.ParamGroups();
  EXPECT_THAT(groups[0].parameters, ElementsAre("x.a", "x.b"));
  EXPECT_THAT(groups[1].parameters, ElementsAre("y.a"));
  EXPECT_EQ(groups[1].options[0], (std::pair<std::string, double>("lr", 0.5)));
  optimizer.SetLearningRate(0.3);
  EXPECT_EQ(optimizer.GroupLearningRate(0), 0.3);
  EXPECT_EQ(optimizer.GroupLearningRate(1), 0.3);
  EXPECT_THROW(optimizer.GroupLearningRate(2), Error);
  EXPECT_THROW(optimizer.SetGroupLearningRate(-1, 0), Error);
}

TEST_P(CombinedOptimizerTest, StateDictsRestore) {
  CombinedOptimizer optimizer = Make("x", "y"), other = Make("x", "y");
  SetGradient(ctx(), p_[1], {3, 4});
  optimizer.Step(ctx());
  other.LoadStateDict(ctx(), optimizer.StateDict());
  EXPECT_THAT(other.StateDict().at("x.b").at("sum").ToVector<float>(), ElementsAre(9, 16));
  EXPECT_THAT(other.StateDict().at("x.b").at("step").ToVector<float>(), ElementsAre(1));
}

// The first part's state would be valid; it is not loaded because the second's is not.
TEST_P(CombinedOptimizerTest, RefusesBadStateDictsAndChangesNothing) {
  CombinedOptimizer optimizer(
      {{"x", MakeDense(ctx(), {p_[0]}, "adagrad")}, {"y", MakeDense(ctx(), {p_[1]}, "adagrad")}});
  const auto state = [&](float value, const std::string& second) {
    OptimizerStateDict dict;
    for (const std::string& key : {std::string("x.a"), second})
      dict[key] = {{"step", Tensor::Full(ctx(), {}, 1)},
                   {"sum", Tensor::Full(ctx(), {2}, static_cast<double>(value))}};
    return dict;
  };
  EXPECT_THAT([&] { optimizer.LoadStateDict(ctx(), state(5, "b")); },
              ThrowsMessage<Error>(HasSubstr("it has 'b.step', 'b.sum'")));
  OptimizerStateDict without = state(5, "y.b");
  without.erase("y.b");
  EXPECT_THAT([&] { optimizer.LoadStateDict(ctx(), without); },
              ThrowsMessage<Error>(HasSubstr("it lacks 'b'")));
  EXPECT_THAT(optimizer.StateDict().at("x.a").at("sum").ToVector<float>(), ElementsAre(0, 0));
  optimizer.LoadStateDict(ctx(), state(5, "y.b"));
  EXPECT_THAT(optimizer.StateDict().at("x.a").at("sum").ToVector<float>(), ElementsAre(5, 5));
}

TESSERA_INSTANTIATE_DEVICES(CombinedOptimizerTest);

}  // namespace
}  // namespace tessera
