#include "embedding/fused_optimizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

#include "embedding/embedding_bag_collection.h"
#include "optim/combined_optimizer.h"
#include "optim/dense_optimizer.h"
#include "optim/warmup_optimizer.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/linear.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

EmbeddingBagConfig Config(const std::string& name, const std::string& feature, AnyRule rule) {
  EmbeddingBagConfig config;
  config.name = name;
  config.num_embeddings = 6;
  config.embedding_dim = 3;
  config.feature_names = {feature};
  config.optimizer = std::move(rule);
  return config;
}

// Tables with rules that remember different things, a dense layer on top of them, and one optimizer
// for all.
struct Model {
  explicit Model(Context& ctx)
      : collection(
            ctx, {Config("a", "f", Adam{.lr = 0.25f}), Config("d", "g", Dense{}),
                  Config("b", "g", RowwiseAdagrad{.lr = 0.5f}), Config("s", "f", Sgd{.lr = 1.0f})}),
        weight(Random(ctx, {1, 12}), /*requires_grad=*/true),
        bias(Random(ctx, {1}), /*requires_grad=*/true),
        fused(std::make_shared<FusedOptimizer>(collection.tables(), "embedding_bags")) {
    DenseOptimizerConfig config("adam");
    config.lr = 0.125;
    dense = std::make_shared<DenseOptimizer>(ctx, Parameters(), config);
  }

  static Tensor Random(Context& ctx, const Shape& shape) {
    Tensor t = Tensor::Empty(ctx, shape);
    FillUniform(ctx, t, -1, 1);
    return t;
  }
  std::vector<NamedParameter> Parameters() {
    return {{"weight", weight}, {"bias", bias}, {"d", collection.tables().weight_variable(1)}};
  }
  std::shared_ptr<Optimizer> Combined() {
    return std::make_shared<CombinedOptimizer>(
        std::vector<CombinedOptimizer::Part>{{"embeddings", fused}, {"dense", dense}});
  }

  // Forward and backward of a batch that depends on the step.
  void Backward(Context& ctx, int64_t step) {
    const auto kjt = KeyedJaggedTensor::FromLengthsSync(
        {"f", "g"}, Tensor::From<int64_t>(ctx, {step % 6, 2, 5, (step + 3) % 6, 1}),
        Tensor::From<int64_t>(ctx, {2, 1, 1, 1}));
    Tape tape(ctx);
    const Variable pooled = collection.Forward(ctx, kjt).values();
    tape.Backward(Sum(ctx, Linear(ctx, pooled, weight, bias)));
  }

  std::vector<Tensor> Values() const {
    std::vector<Tensor> values = {weight.value().ToHost(), bias.value().ToHost()};
    for (int t = 0; t < 4; ++t) values.push_back(collection.tables().weight(t).ToHost());
    return values;
  }

  EmbeddingBagCollection collection;
  Variable weight, bias;
  std::shared_ptr<FusedOptimizer> fused;
  std::shared_ptr<DenseOptimizer> dense;
};

const std::vector<WarmupStage> kStages = {
    {.policy = WarmupPolicy::kLinear, .max_iters = 3, .value = 0.25},
    {.policy = WarmupPolicy::kStep, .max_iters = 6, .value = 0.5, .decay_iters = 2}};

class FusedOptimizerTest : public testing::DeviceTest {
 protected:
  // The model of this seed.
  std::unique_ptr<Model> Make() {
    ctx().random() = Random(3);
    return std::make_unique<Model>(ctx());
  }
  static void ExpectSame(const Model& a, const Model& b) {
    const std::vector<Tensor> x = a.Values(), y = b.Values();
    for (size_t i = 0; i < x.size(); ++i) EXPECT_TRUE(SameBits(x[i], y[i])) << "value " << i;
  }
};

TEST_P(FusedOptimizerTest, KeysAndStatesAreTheTables) {
  const auto model = Make();
  EXPECT_THAT(
      model->fused->Keys(),
      ElementsAre("embedding_bags.a.weight", "embedding_bags.b.weight", "embedding_bags.s.weight"));
  EXPECT_THAT(FusedOptimizer(model->collection.tables()).Keys(),
              ElementsAre("a.weight", "b.weight", "s.weight"));
  EXPECT_TRUE(model->fused->Variables().empty());
  model->Backward(ctx(), 1);
  std::vector<std::string> names;
  for (const auto& [key, states] : model->fused->StateDict())
    for (const auto& [name, tensor] : states) names.push_back(key.substr(15) + "." + name);
  EXPECT_THAT(names, ElementsAre("a.weight.iter", "a.weight.momentum1", "a.weight.momentum2",
                                 "b.weight.iter", "b.weight.momentum1", "s.weight.iter"));
  const OptimizerStateDict state = model->fused->StateDict();
  const auto& a = state.at("embedding_bags.a.weight");
  EXPECT_THAT(a.at("iter").ToVector<int64_t>(), ElementsAre(1));
  EXPECT_TRUE(
      SameBits(a.at("momentum1"), model->collection.tables().optimizer_states(0)[0].tensor));
}

TEST_P(FusedOptimizerTest, RatesAreThoseOfTheTables) {
  const auto model = Make();
  FusedOptimizer& fused = *model->fused;
  ASSERT_EQ(fused.num_groups(), 3);
  EXPECT_EQ(fused.GroupLearningRate(1), 0.5);
  fused.SetGroupLearningRate(1, 0.75);
  EXPECT_EQ(LearningRate(model->collection.tables().rule(2)), 0.75f);
  const std::vector<ParamGroup> groups = fused.ParamGroups();
  EXPECT_THAT(groups[1].parameters, ElementsAre("embedding_bags.b.weight"));
  using Options = std::vector<std::pair<std::string, double>>;
  EXPECT_EQ(groups[1].options, (Options{{"lr", 0.75},
                                        {"eps", static_cast<double>(RowwiseAdagrad{}.eps)},
                                        {"weight_decay", 0},
                                        {"weight_decay_mode", 0},
                                        {"max_norm", 0}}));
  model->collection.tables().SetLearningRateScale(0, 2);
  fused.SetLearningRate(0.5);
  EXPECT_EQ(fused.GroupLearningRate(0), 1);
  EXPECT_EQ(fused.GroupLearningRate(2), 0.5);
  EXPECT_THROW(fused.GroupLearningRate(3), Error);
  EXPECT_THROW(fused.SetLearningRate(INFINITY), Error);
}

// One schedule drives tables and dense parameters as rates set by hand do.
TEST_P(FusedOptimizerTest, WarmsUpTogetherWithTheDenseOptimizer) {
  const auto warm = Make(), by_hand = Make();
  WarmupOptimizer optimizer(warm->Combined(), kStages);
  WarmupSchedule schedule(kStages);
  const std::vector<float> bases = {0.25f, 0.5f, 1.0f};
  for (int64_t step = 0; step < 8; ++step) {
    TableBatchedEmbedding& tables = by_hand->collection.tables();
    for (size_t g = 0; g < 3; ++g)
      tables.SetLearningRate(g == 0 ? 0 : static_cast<int>(g) + 1,
                             static_cast<float>(schedule.LearningRate(bases[g])));
    by_hand->dense->SetLearningRate(schedule.LearningRate(0.125));
    by_hand->Backward(ctx(), step);
    by_hand->dense->Step(ctx());
    by_hand->dense->ZeroGrad();
    schedule.Step();

    warm->Backward(ctx(), step);
    optimizer.Step(ctx());
    optimizer.ZeroGrad();
    ExpectSame(*warm, *by_hand);
  }
  EXPECT_EQ(optimizer.GroupLearningRate(3), 0.125);
}

TEST_P(FusedOptimizerTest, OneStateDictResumesAll) {
  const auto whole = Make(), resumed = Make();
  WarmupOptimizer first(whole->Combined(), kStages), second(resumed->Combined(), kStages);
  const auto train = [&](Model& model, Optimizer& optimizer, int64_t from, int64_t to) {
    for (int64_t step = from; step < to; ++step) {
      optimizer.ZeroGrad();
      model.Backward(ctx(), step);
      optimizer.Step(ctx());
    }
  };
  train(*whole, first, 0, 4);
  OptimizerStateDict on_host;
  for (const auto& [key, states] : first.StateDict())
    for (const auto& [name, tensor] : states) on_host[key][name] = tensor.ToHost();
  EXPECT_EQ(on_host.size(), 7u);
  EXPECT_TRUE(on_host.contains("embeddings.embedding_bags.s.weight"));
  EXPECT_TRUE(on_host.contains("dense.bias"));
  second.LoadStateDict(ctx(), on_host);
  for (int t = 0; t < 4; ++t)
    resumed->collection.tables().weight(t).CopyFrom(ctx(), whole->collection.tables().weight(t));
  resumed->weight.value().CopyFrom(ctx(), whole->weight.value());
  resumed->bias.value().CopyFrom(ctx(), whole->bias.value());
  train(*whole, first, 4, 8);
  train(*resumed, second, 4, 8);
  ExpectSame(*whole, *resumed);
  EXPECT_EQ(resumed->collection.tables().iter(), 8);
}

TEST_P(FusedOptimizerTest, RefusesBadStateDictsAndChangesNothing) {
  const auto model = Make();
  model->Backward(ctx(), 1);
  FusedOptimizer& fused = *model->fused;
  const std::string b = "embedding_bags.b.weight";
  const Tensor before = fused.StateDict().at(b).at("momentum1").Clone(ctx());
  const auto error_of = [&](const std::function<void(OptimizerStateDict&)>& change,
                            const char* text) {
    OptimizerStateDict bad = fused.StateDict();
    for (auto& [name, tensor] : bad.at(b))
      tensor = Tensor::Zeros(ctx(), tensor.shape(), tensor.dtype());
    change(bad);
    EXPECT_THAT([&] { fused.LoadStateDict(ctx(), bad); }, ThrowsMessage<Error>(HasSubstr(text)));
  };
  error_of([&](auto& s) { s.erase("embedding_bags.s.weight"); },
           "it lacks 'embedding_bags.s.weight'");
  error_of([&](auto& s) { s["b.weight"] = s[b]; }, "it has 'b.weight.iter', 'b.weight.momentum1'");
  error_of([&](auto& s) { s[b].erase("iter"); }, "lacks the state 'iter'");
  error_of([&](auto& s) { s[b]["momentum2"] = before; }, "has a state 'momentum2'");
  error_of([&](auto& s) { s[b]["momentum1"] = Tensor::Zeros(ctx(), {5}); },
           "state 'momentum1' of 'embedding_bags.b.weight'");
  error_of([&](auto& s) { s[b]["iter"] = Tensor::Full(ctx(), {}, -1, DType::kI64); }, "'iter'");
  error_of(
      [&](auto& s) {
        s[b]["iter"] = Tensor::From<int64_t>(ctx(), {}, {std::numeric_limits<int64_t>::max()});
      },
      "'iter' of 'embedding_bags.b.weight': expected 0 to 4611686018427387904 steps, got "
      "9223372036854775807");
  EXPECT_TRUE(SameBits(fused.StateDict().at(b).at("momentum1"), before));
  EXPECT_EQ(model->collection.tables().iter(), 1);
}

TEST_P(FusedOptimizerTest, KeepsTheMaxCounterOfEachTable) {
  CounterRowwiseAdagrad rule, smaller;
  rule.max_counter = 5;
  smaller.max_counter = 0.5f;
  EmbeddingBagCollection one(ctx(), {Config("c", "f", rule), Config("d", "f", smaller)}),
      other(ctx(), {Config("c", "f", {})});
  FusedOptimizer fused(one.tables());
  OptimizerStateDict state = fused.StateDict();
  EXPECT_THAT(state.at("c.weight").at("max_counter").ToVector<float>(), ElementsAre(5));
  one.tables().set_max_counter(7);
  fused.LoadStateDict(ctx(), state);
  EXPECT_EQ(one.tables().max_counter(0), 5);
  EXPECT_EQ(one.tables().max_counter(1), 0.5f);
  state["c.weight"]["max_counter"] = Tensor::Zeros(ctx(), {});
  EXPECT_THROW(fused.LoadStateDict(ctx(), state), Error);
  EXPECT_THROW(FusedOptimizer(other.tables()).LoadStateDict(ctx(), state), Error);
}

TESSERA_INSTANTIATE_DEVICES(FusedOptimizerTest);

}  // namespace
}  // namespace tessera
