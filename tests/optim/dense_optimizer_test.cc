#include "optim/dense_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "tests/testing/devices.h"

namespace tessera {
namespace {

class DenseOptimizerTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(DenseOptimizerTest);

using Matrix = std::vector<double>;

// The formulas, element by element in double. Rows of `dim` for rowwise_adagrad.
struct Reference {
  DenseOptimizerConfig c;
  int64_t dim = 1;
  Matrix p;
  std::map<std::string, Matrix> state = {};
  int64_t t = 0;

  void Step(const Matrix& gradient) {
    ++t;
    const bool first = t == 1;
    Matrix g = gradient;
    for (size_t i = 0; i < p.size(); ++i) {
      if (c.maximize) g[i] = -g[i];
      if (c.name == "adamw")
        p[i] *= 1 - c.lr * c.weight_decay;
      else
        g[i] += c.weight_decay * p[i];
    }
    if (c.name == "rowwise_adagrad") return StepRows(g);
    for (const char* name : {"m", "v", "max", "sum", "buf"}) state[name].resize(p.size(), 0);
    for (size_t i = 0; i < p.size(); ++i) {
      if (c.name == "sgd")
        p[i] -= c.lr * Momentum(g[i], state["buf"][i], first);
      else if (c.name == "adagrad")
        p[i] -= Adagrad(g[i], state["sum"][i], first);
      else
        p[i] -= Adam(g[i], state["m"][i], state["v"][i], state["max"][i]);
    }
  }
  double Momentum(double g, double& buf, bool first) const {
    if (c.momentum == 0) return g;
    buf = first ? g : c.momentum * buf + (1 - c.dampening) * g;
    return c.nesterov ? g + c.momentum * buf : buf;
  }
  double Rate() const { return c.lr / (1 + static_cast<double>(t - 1) * c.lr_decay); }
  double Adagrad(double g, double& sum, bool first) const {
    if (first) sum = c.initial_accumulator_value;
    sum += g * g;
    return Rate() * g / (std::sqrt(sum) + c.eps);
  }
  double Adam(double g, double& m, double& v, double& largest) const {
    m = c.beta1 * m + (1 - c.beta1) * g;
    v = c.beta2 * v + (1 - c.beta2) * g * g;
    largest = std::max(largest, v);
    const double n = static_cast<double>(t),
                 root = std::sqrt((c.amsgrad ? largest : v) / (1 - std::pow(c.beta2, n)));
    return c.lr / (1 - std::pow(c.beta1, n)) * m / (root + c.eps);
  }
  void StepRows(const Matrix& g) {
    const size_t rows = p.size() / static_cast<size_t>(dim), d = static_cast<size_t>(dim);
    state["sum"].resize(rows, c.initial_accumulator_value);
    for (size_t r = 0; r < rows; ++r) {
      for (size_t i = r * d; i < (r + 1) * d; ++i)
        state["sum"][r] += g[i] * g[i] / static_cast<double>(dim);
      for (size_t i = r * d; i < (r + 1) * d; ++i)
        p[i] -= Rate() * g[i] / (std::sqrt(state["sum"][r]) + c.eps);
    }
  }
};

Matrix AsDouble(const Tensor& t) {
  const std::vector<float> v = t.ToVector<float>();
  return Matrix(v.begin(), v.end());
}

NamedParameter Parameter(Context& ctx, const std::string& name, const Shape& shape) {
  Tensor t = Tensor::Empty(ctx, shape);
  FillUniform(ctx, t, -1, 1);
  return {name, Variable(t, /*requires_grad=*/true)};
}

Tensor Gradient(Context& ctx, const Shape& shape) {
  Tensor t = Tensor::Empty(ctx, shape);
  FillUniform(ctx, t, -2, 2);
  return t;
}

DenseOptimizerConfig Config(const std::string& name, const std::map<std::string, double>& options) {
  DenseOptimizerConfig config(name);
  for (const auto& [option, value] : options) config.Set(option, value);
  return config;
}

std::vector<DenseOptimizerConfig> AllConfigs() {
  return {
      Config("sgd", {{"lr", 0.1}, {"weight_decay", 0.05}}),
      Config("sgd", {{"lr", 0.1}, {"momentum", 0.9}, {"dampening", 0.2}}),
      Config("sgd", {{"lr", 0.1}, {"momentum", 0.8}, {"nesterov", 1}, {"maximize", 1}}),
      Config("adagrad", {{"lr", 0.1},
                         {"lr_decay", 0.1},
                         {"initial_accumulator_value", 0.2},
                         {"weight_decay", 0.1}}),
      Config("rowwise_adagrad",
             {{"lr", 0.1}, {"eps", 1e-3}, {"initial_accumulator_value", 0.3}, {"maximize", 1}}),
      Config("rowwise_adagrad", {{"lr", 0.1}, {"lr_decay", 0.2}, {"weight_decay", 0.1}}),
      Config("adam", {{"lr", 0.02}, {"weight_decay", 0.1}, {"beta1", 0.8}, {"beta2", 0.9}}),
      Config("adam", {{"lr", 0.02}, {"amsgrad", 1}, {"eps", 1e-3}}),
      Config("adamw", {{"lr", 0.02}, {"weight_decay", 0.5}}),
  };
}

TEST_P(DenseOptimizerTest, AgreesWithFormulas) {
  Context ctx({.device = device(), .seed = 1});
  const std::vector<Shape> shapes = {
      {3, 5}, {70, 129}, {1, 20000}, {0, 4}};  // several pieces, wide rows, nothing
  for (const DenseOptimizerConfig& config : AllConfigs()) {
    SCOPED_TRACE(config.name);
    std::vector<NamedParameter> parameters;
    std::vector<Reference> references;
    for (const Shape& shape : shapes) {
      parameters.push_back(Parameter(ctx, "p" + std::to_string(parameters.size()), shape));
      references.push_back({config, shape[1], AsDouble(parameters.back().variable.value())});
    }
    DenseOptimizer optimizer(ctx, parameters, config);
    for (int step = 0; step < 4; ++step) {
      for (size_t i = 0; i < shapes.size(); ++i) {
        if (step == 1 && i == 0)
          continue;  // has no gradient: keeps its value, state and step count
        const Tensor g = Gradient(ctx, shapes[i]);
        parameters[i].variable.AccumulateGrad(ctx, g);
        references[i].Step(AsDouble(g));
      }
      optimizer.Step(ctx);
      optimizer.ZeroGrad();
    }
    for (size_t i = 0; i < shapes.size(); ++i) {
      const Matrix got = AsDouble(parameters[i].variable.value());
      for (size_t e = 0; e < got.size(); ++e)
        ASSERT_NEAR(got[e], references[i].p[e], 2e-5) << "parameter " << i << "[" << e << "]";
    }
  }
}

// Bits are the same on every device, with any number of threads; on CUDA there are more parameters
// than one launch takes.
TEST_P(DenseOptimizerTest, SameBitsEverywhere) {
  for (const DenseOptimizerConfig& config : AllConfigs()) {
    const auto run = [&](Device on, int threads) {
      Context ctx({.device = on, .threads = threads, .seed = 9});
      std::vector<NamedParameter> parameters = {Parameter(ctx, "large", {100, 133})};
      for (int i = 0; i < 35; ++i)
        parameters.push_back(Parameter(ctx, "small" + std::to_string(i), {i % 3, 5}));
      DenseOptimizer optimizer(ctx, parameters, config);
      for (int step = 0; step < 3; ++step) {
        optimizer.ZeroGrad();
        for (NamedParameter& p : parameters)
          p.variable.AccumulateGrad(ctx, Gradient(ctx, p.variable.shape()));
        optimizer.Step(ctx);
      }
      std::vector<Tensor> result;
      for (const NamedParameter& p : parameters) result.push_back(p.variable.value().ToHost());
      for (const auto& [key, states] : optimizer.StateDict())
        for (const auto& [name, tensor] : states) result.push_back(tensor.ToHost());
      return result;
    };
    const std::vector<Tensor> expected = run(Device::Cpu(), 1), got = run(device(), 3);
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_TRUE(SameBits(got[i], expected[i])) << config.name << ", tensor " << i;
  }
}

// Training that is saved and loaded gives the same bits as training that never stopped.
TEST_P(DenseOptimizerTest, StateDictsRestore) {
  Context ctx({.device = device(), .seed = 2});
  for (const DenseOptimizerConfig& config : AllConfigs()) {
    const NamedParameter p = Parameter(ctx, "p", {4, 6}),
                         copy{"p", Variable(p.variable.value().Clone(ctx), true)};
    DenseOptimizer optimizer(ctx, {p}, config), resumed(ctx, {copy}, config);
    const Tensor g = Gradient(ctx, {4, 6});
    Variable(p.variable).AccumulateGrad(ctx, g);
    Variable(copy.variable).AccumulateGrad(ctx, g);
    for (int i = 0; i < 2; ++i) optimizer.Step(ctx);
    copy.variable.value().CopyFrom(ctx, p.variable.value());
    resumed.LoadStateDict(ctx, optimizer.StateDict());
    optimizer.Step(ctx);
    resumed.Step(ctx);
    EXPECT_TRUE(SameBits(p.variable.value(), copy.variable.value())) << config.name;
  }
}

std::vector<std::string> StateNames(const DenseOptimizer& optimizer) {
  std::vector<std::string> names;
  for (const auto& [key, states] : optimizer.StateDict())
    for (const auto& [name, tensor] : states) names.push_back(key + "." + name);
  return names;
}

TEST_P(DenseOptimizerTest, StatesExistFromTheFirstUpdate) {
  Context ctx({.device = device()});
  std::vector<NamedParameter> p = {Parameter(ctx, "a", {2, 3}), Parameter(ctx, "b", {2, 3})};
  DenseOptimizer adam(ctx, p, Config("adam", {{"amsgrad", 1}}));
  EXPECT_TRUE(adam.StateDict().empty());
  p[0].variable.AccumulateGrad(ctx, Gradient(ctx, {2, 3}));
  adam.Step(ctx);
  EXPECT_EQ(StateNames(adam),
            (std::vector<std::string>{"a.exp_avg", "a.exp_avg_sq", "a.max_exp_avg_sq", "a.step"}));
  EXPECT_EQ(adam.StateDict().at("a").at("step").ToVector<float>(), std::vector<float>{1});
  DenseOptimizer rowwise(ctx, p, Config("rowwise_adagrad", {{"initial_accumulator_value", 0.5}}));
  EXPECT_EQ(StateNames(rowwise), (std::vector<std::string>{"a.step", "a.sum", "b.step", "b.sum"}));
  const Tensor sum = rowwise.StateDict().at("b").at("sum");
  EXPECT_EQ(sum.shape(), (Shape{2, 1}));
  EXPECT_EQ(sum.ToVector<float>(), (std::vector<float>{0.5, 0.5}));
  EXPECT_TRUE(DenseOptimizer(ctx, p, DenseOptimizerConfig("sgd")).StateDict().empty());
}

TEST_P(DenseOptimizerTest, IsOneGroupOfItsParameters) {
  Context ctx({.device = device()});
  const std::vector<NamedParameter> p = {Parameter(ctx, "b", {2}), Parameter(ctx, "a", {2})};
  DenseOptimizer optimizer(ctx, p, Config("sgd", {{"lr", 0.5}, {"momentum", 0.9}}));
  EXPECT_EQ(optimizer.Keys(), (std::vector<std::string>{"b", "a"}));
  const std::vector<ParamGroup> groups = optimizer.ParamGroups();
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].parameters, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(groups[0].options, (std::vector<std::pair<std::string, double>>{{"lr", 0.5},
                                                                            {"weight_decay", 0},
                                                                            {"momentum", 0.9},
                                                                            {"dampening", 0},
                                                                            {"nesterov", 0},
                                                                            {"maximize", 0}}));
  optimizer.SetGroupLearningRate(0, 0.25);
  EXPECT_EQ(optimizer.GroupLearningRate(0), 0.25);
  EXPECT_THROW(optimizer.GroupLearningRate(1), Error);
  EXPECT_THROW(optimizer.SetGroupLearningRate(-1, 0.1), Error);
}

TEST_P(DenseOptimizerTest, TakesSlicedGradientsAndNewLearningRates) {
  Context ctx({.device = device()});
  NamedParameter p = Parameter(ctx, "p", {2, 2});
  p.variable.value().Fill(ctx, 0);
  DenseOptimizer optimizer(ctx, {p}, Config("sgd", {{"lr", 1}}));
  optimizer.SetLearningRate(0.5);
  EXPECT_EQ(optimizer.learning_rate(), 0.5);
  p.variable.AccumulateGrad(ctx,
                            Tensor::From<float>(ctx, {2, 3}, {9, 1, 2, 9, 3, 4}).Narrow(1, 1, 2));
  optimizer.Step(ctx);
  EXPECT_EQ(p.variable.value().ToVector<float>(), (std::vector<float>{-0.5, -1, -1.5, -2}));
  for (const double rate : {std::nan(""), -1.0})
    EXPECT_THROW(optimizer.SetLearningRate(rate), Error);
}

TEST_P(DenseOptimizerTest, RefusesBadParameters) {
  Context ctx({.device = device()});
  const NamedParameter p = Parameter(ctx, "p", {2, 3}), vector = Parameter(ctx, "v", {3});
  const auto make = [&](const std::vector<NamedParameter>& parameters, const char* name) {
    DenseOptimizer(ctx, parameters, DenseOptimizerConfig(name));
  };
  EXPECT_THROW(make({p, p}, "sgd"), Error);
  EXPECT_THAT(
      [&] {
        make({p, {"q", p.variable}}, "sgd");
      },
      ThrowsMessage<Error>(HasSubstr("'p' and 'q' are one variable")));
  EXPECT_THROW(make({vector}, "rowwise_adagrad"), Error);
  EXPECT_THROW(make({{"n", p.variable.value()}}, "sgd"), Error);
  EXPECT_THROW(make({{"n", {}}}, "sgd"), Error);
  EXPECT_THROW(make({{"n", Variable(p.variable.value().Narrow(1, 0, 2), true)}}, "sgd"), Error);
  EXPECT_THROW(make({{"n", Variable(Tensor::Zeros(ctx, {2}, DType::kF64), true)}}, "sgd"), Error);
}

struct BadState {
  OptimizerStateDict state;
  const char* error;
};

TEST_P(DenseOptimizerTest, RefusesBadStateDictsAndChangesNothing) {
  Context ctx({.device = device()});
  NamedParameter p = Parameter(ctx, "p", {2});
  DenseOptimizer optimizer(ctx, {p}, DenseOptimizerConfig("adagrad"));
  p.variable.AccumulateGrad(ctx, Gradient(ctx, {2}));
  optimizer.Step(ctx);
  const Tensor before = optimizer.StateDict().at("p").at("sum").Clone(ctx),
               step = Tensor::Zeros(ctx, {}), sum = Tensor::Zeros(ctx, {2}),
               sum3 = Tensor::Zeros(ctx, {3}), sum64 = Tensor::Zeros(ctx, {2}, DType::kF64);
  const std::vector<BadState> bad = {
      {{}, "it lacks 'p'"},
      {{{"p", {{"step", step}}}}, "'p' lacks the state 'sum'"},
      {{{"p", {{"step", step}, {"sum", Tensor()}}}}, "'p' lacks the state 'sum'"},
      {{{"p", {{"step", step}, {"sum", sum3}}}}, "state 'sum' of 'p'"},
      {{{"p", {{"step", step}, {"sum", sum64}}}}, "state 'sum' of 'p'"},
      {{{"q", {{"step", step}, {"sum", sum}}}}, "it has 'q.step', 'q.sum'"},
      {{{"p", {{"step", step}, {"sum", sum}, {"exp_avg", sum}}}}, "'p' has a state 'exp_avg'"},
  };
  for (const auto& [state, error] : bad)
    EXPECT_THAT([&] { optimizer.LoadStateDict(ctx, state); },
                ::testing::ThrowsMessage<Error>(::testing::HasSubstr(error)));
  EXPECT_TRUE(SameBits(optimizer.StateDict().at("p").at("sum"), before));
}

// A parameter that never had a gradient is in no state dict, and none is asked for.
TEST_P(DenseOptimizerTest, ParametersWithoutStateMayBeMissing) {
  Context ctx({.device = device()});
  std::vector<NamedParameter> p = {Parameter(ctx, "a", {2}), Parameter(ctx, "b", {2})};
  DenseOptimizer adam(ctx, p, DenseOptimizerConfig("adam")), fresh(ctx, p, adam.config());
  p[0].variable.AccumulateGrad(ctx, Gradient(ctx, {2}));
  adam.Step(ctx);
  fresh.LoadStateDict(ctx, adam.StateDict());
  EXPECT_EQ(StateNames(fresh), StateNames(adam));
  EXPECT_THROW(fresh.LoadStateDict(ctx, {}), Error);  // now it has state
  EXPECT_EQ(StateNames(fresh), StateNames(adam));
}

TEST(DenseOptimizerConfigTest, HasTorchsDefaults) {
  EXPECT_EQ(DenseOptimizerConfig("sgd").lr, 1e-3);
  EXPECT_EQ(DenseOptimizerConfig("adagrad").lr, 1e-2);
  EXPECT_EQ(DenseOptimizerConfig("rowwise_adagrad").eps, 1e-10);
  EXPECT_EQ(DenseOptimizerConfig("adam").eps, 1e-8);
  EXPECT_EQ(DenseOptimizerConfig("adam").weight_decay, 0);
  EXPECT_EQ(DenseOptimizerConfig("adamw").weight_decay, 1e-2);
}

TEST(DenseOptimizerConfigTest, OptionsByName) {
  for (const std::string& name : DenseOptimizerConfig::AllNames()) {
    DenseOptimizerConfig config(name);
    config.Check();
    for (const std::string& option : config.Options()) {
      const double value = option == "nesterov" ? 0 : option.starts_with("beta") ? 0.5 : 1;
      config.Set(option, value);
      EXPECT_EQ(config.Get(option), value);
    }
    config.Check();
  }
  EXPECT_THROW(DenseOptimizerConfig("lamb"), Error);
  EXPECT_THROW(DenseOptimizerConfig("adam").Set("momentum", 0.9), Error);
  EXPECT_THROW(DenseOptimizerConfig("sgd").Set("speed", 1), Error);
  EXPECT_THROW(DenseOptimizerConfig("sgd").Set("nesterov", 0.5), Error);
  EXPECT_THROW(DenseOptimizerConfig("sgd").Get("eps"), Error);
}

TEST(DenseOptimizerConfigTest, RefusesNonsense) {
  EXPECT_THROW(Config("sgd", {{"lr", -1}}).Check(), Error);
  EXPECT_THROW(Config("sgd", {{"lr", std::nan("")}}).Check(), Error);
  EXPECT_THROW(Config("adam", {{"beta1", 1}}).Check(), Error);
  EXPECT_THROW(Config("adam", {{"eps", -1e-3}}).Check(), Error);
  EXPECT_THROW(Config("sgd", {{"nesterov", 1}}).Check(), Error);
  EXPECT_THROW(Config("sgd", {{"nesterov", 1}, {"momentum", 0.9}, {"dampening", 0.1}}).Check(),
               Error);
  DenseOptimizerConfig adam("adam");
  adam.momentum = 0.9;  // written past Set: still refused
  EXPECT_THROW(adam.Check(), Error);
}

}  // namespace
}  // namespace tessera
