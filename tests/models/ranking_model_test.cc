// Properties of all ranking models and of two towers; dlrm_test looks at DLRM closely.
#include "models/ranking_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>

#include "comm/local_communicator.h"
#include "models/two_tower.h"
#include "optim/dense_optimizer.h"
#include "runtime/ops/loss.h"
#include "sharding/distributed_model_parallel.h"
#include "sharding/plan/plan_makers.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::RandomTensor;

class RankingModelTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(RankingModelTest);
class TwoTowerTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(TwoTowerTest);

EmbeddingBagConfig Table(const std::string& name, const std::vector<std::string>& features) {
  EmbeddingBagConfig table;
  table.name = name;
  table.num_embeddings = 10;
  table.embedding_dim = 4;
  table.feature_names = features;
  table.optimizer = RowwiseAdagrad{.lr = 0.05f};
  return table;
}

std::vector<RankingModelConfig> AllTypes() {
  const std::vector<EmbeddingBagConfig> tables = {Table("t_a", {"a"}), Table("t_b", {"b", "c"})};
  using Type = RankingModelType;
  const RankingNetConfig dlrm{.dense_in = 3, .dense_arch = {5, 4}, .over_arch = {6, 1}};
  RankingNetConfig dcn = dlrm, projection = dlrm;
  dcn.type = Type::kDlrmDcn;
  dcn.dcn_layers = 2;
  dcn.dcn_low_rank = 3;
  projection.type = Type::kDlrmProjection;
  projection.branch1 = {9, 8};
  projection.branch2 = {12};
  const RankingNetConfig deepfm{
      .type = Type::kDeepFm, .dense_in = 3, .hidden = 7, .deep_fm_dim = 5};
  const RankingNetConfig mmoe{.type = Type::kMmoe,
                              .dense_in = 3,
                              .dense_arch = {5, 3},
                              .experts = 3,
                              .expert_arch = {7, 6},
                              .tower_arch = {16, 1}};
  RankingNetConfig ple = mmoe;
  ple.type = Type::kPle;
  ple.extraction_layers = ple.task_experts = 2;
  std::vector<RankingModelConfig> configs;
  for (const RankingNetConfig& net : {dlrm, dcn, projection, deepfm, mmoe, ple})
    configs.push_back({.tables = tables, .net = net});
  return configs;
}

KeyedJaggedTensor Batch(Context& ctx) {
  return KeyedJaggedTensor::FromLengthsSync(
      {"c", "a", "b"}, Tensor::From<int64_t>(ctx, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2}),
      Tensor::From<int64_t>(ctx, {1, 1, 1, 1, 2, 0, 1, 1, 1, 1, 1, 1}));
}

std::vector<std::string> DenseNames(const RankingModel& model) {
  std::vector<std::string> names;
  for (const NamedParameter& p : model.Parameters())
    names.push_back(p.name + ToString(p.variable.shape()));
  return names;
}

TEST_P(RankingModelTest, NamesAreTorchRecs) {
  Context ctx({.device = device()});
  const auto names = [&](size_t type) { return DenseNames(RankingModel(ctx, AllTypes()[type])); };
  EXPECT_EQ(names(1)[4], "inter_arch.crossnet.W_kernels.0[16, 3]");
  EXPECT_EQ(names(1).back(), "over_arch.model.1.bias[1]");
  EXPECT_EQ(names(2)[4], "inter_arch.interaction_branch1.model._mlp.0._linear.weight[9, 16]");
  EXPECT_EQ(names(3), (std::vector<std::string>{
                          "dense_arch.model.0.weight[7, 3]", "dense_arch.model.0.bias[7]",
                          "dense_arch.model.2.weight[4, 7]", "dense_arch.model.2.bias[4]",
                          "inter_arch.deep_fm.dense_module.0.weight[5, 16]",
                          "inter_arch.deep_fm.dense_module.0.bias[5]",
                          "over_arch.model.0.weight[1, 10]", "over_arch.model.0.bias[1]"}));
  EXPECT_EQ(RankingModel(ctx, AllTypes()[3]).StateDict()[1].name,
            "sparse_arch.embedding_bag_collection.embedding_bags.t_b.weight");
}

// Every type of model learns four examples by heart.
TEST_P(RankingModelTest, EveryTypeLearns) {
  for (const RankingModelConfig& config : AllTypes()) {
    SCOPED_TRACE(ToString(config.net.type));
    Context ctx({.device = device(), .seed = 3});
    RankingModel model(ctx, config);
    const Tensor dense = RandomTensor(ctx, {4, 3}), labels = Tensor::From<float>(ctx, {0, 1, 1, 0});
    DenseOptimizerConfig adam("adam");
    adam.lr = 0.03;
    DenseOptimizer optimizer(ctx, model.Parameters(), adam);
    float loss = 0;
    for (int step = 0; step < 80; ++step) {
      optimizer.ZeroGrad();
      Tape tape(ctx);
      const Variable outputs = model.Forward(ctx, dense, Batch(ctx));
      ASSERT_EQ(outputs.shape(), (Shape{4}));
      const Variable mean = model.Loss(ctx, outputs, labels);
      tape.Backward(mean);
      optimizer.Step(ctx);
      loss = mean.value().ToVector<float>()[0];
    }
    EXPECT_LT(loss, 0.3);  // guessing gives 0.69
    const std::vector<float> p =
        model.Probabilities(ctx, model.Forward(ctx, dense, Batch(ctx))).ToVector<float>();
    EXPECT_LT(p[0], 0.5f);
    EXPECT_GT(p[1], 0.5f);
  }
}

TEST_P(RankingModelTest, AnswersHaveGradientsHoweverWrongTheyAre) {
  for (const RankingModelConfig& config : AllTypes()) {
    Context ctx({.device = device()});
    const RankingModel model(ctx, config);
    const Variable outputs(Tensor::From<float>(ctx, {60, -60}), /*requires_grad=*/true);
    Tape tape(ctx);
    const Variable loss = model.Loss(ctx, outputs, Tensor::From<float>(ctx, {0, 1}));
    tape.Backward(loss);
    EXPECT_EQ(loss.value().ToVector<float>()[0], 60) << ToString(config.net.type);
    EXPECT_EQ(outputs.grad().ToVector<float>(), (std::vector<float>{0.5f, -0.5f}));
  }
}

// These models without dense features, or with two tasks, of which one is by mse.
std::vector<RankingModelConfig> WithoutDense() {
  std::vector<RankingModelConfig> configs = AllTypes();
  for (RankingModelConfig& config : configs) {
    config.net.dense_in = config.net.hidden = 0;
    config.net.dense_arch.clear();
  }
  configs.back().tables[1].embedding_dim = 5;
  return configs;
}
std::vector<RankingModelConfig> OfTwoTasks() {
  std::vector<RankingModelConfig> configs = AllTypes();
  for (const RankingModelConfig& config : WithoutDense()) configs.push_back(config);
  for (RankingModelConfig& config : configs) {
    config.net.tasks = {{.name = "like", .label = "l"},
                        {.name = "stars", .label = "s", .loss = TaskLoss::kMse, .weight = 0.5f}};
    if (!config.net.over_arch.empty()) config.net.over_arch.back() = 2;
  }
  return configs;
}

// On a GPU, which is an emulated one as a rule, every third model, or all where TESSERA_TEST_ALL is
// set.
TEST_P(RankingModelTest, TwoTasksAreLearnedByHeart) {
  const bool all = on_cpu() || std::getenv("TESSERA_TEST_ALL") != nullptr;
  const std::vector<RankingModelConfig> configs = OfTwoTasks();
  for (size_t i = 0; i < configs.size(); i += all ? 1 : 3) {
    const RankingModelConfig& config = configs[i];
    SCOPED_TRACE(Format("{} of {}", ToString(config.net.type), config.net.dense_in));
    Context ctx({.device = device(), .seed = 3});
    RankingModel model(ctx, config);
    const Tensor dense = RandomTensor(ctx, {4, config.net.dense_in}),
                 likes = Tensor::From<float>(ctx, {0, 1, 1, 0}),
                 stars = Tensor::From<float>(ctx, {3, -2, 1, 5});
    DenseOptimizerConfig adam("adam");
    adam.lr = 0.03;
    DenseOptimizer optimizer(ctx, model.Parameters(), adam);
    for (int step = 0; step < 250; ++step) {
      optimizer.ZeroGrad();
      Tape tape(ctx);
      const Variable outputs = model.Forward(ctx, dense, Batch(ctx));
      ASSERT_EQ(outputs.shape(), (Shape{4, 2}));
      tape.Backward(std::vector<Variable>{
          model.LossOfTask(ctx, outputs, 0, RowsThatCount(ctx, 4, likes, {}, {})),
          model.LossOfTask(ctx, outputs, 1, RowsThatCount(ctx, 4, stars, {}, {}))});
      optimizer.Step(ctx);
    }
    const std::vector<float> said =
        model.Probabilities(ctx, model.Forward(ctx, dense, Batch(ctx))).ToVector<float>();
    for (size_t i = 0; i < 4; ++i) {
      EXPECT_NEAR(said[2 * i], likes.ToVector<float>()[i], 0.3) << i;
      EXPECT_NEAR(said[2 * i + 1], stars.ToVector<float>()[i], 1) << i;
    }
  }
}

TEST_P(RankingModelTest, GradientsOfMixtures) {
  Context ctx({.device = device(), .seed = 5});
  for (const RankingModelConfig& config : OfTwoTasks()) {
    if (!TakesAnyDims(config.net.type)) continue;
    const std::vector<PooledFeature> features = {{"a", 4}, {"b", 2}};
    const auto net = MakeRankingNet(ctx, config.net, features);
    const Tensor dense = RandomTensor(ctx, {3, config.net.dense_in});
    testing::ExpectGradient(
        ctx,
        [&](Context& on, const auto& v) {
          return Mse(on, net->Forward(on, dense, v[0]), Tensor::Full(on, {3, 2}, 0.5));
        },
        {RandomTensor(ctx, {3, 6})});
  }
}

TEST_P(RankingModelTest, NamesOfMixtures) {
  Context ctx({.device = device()});
  const auto names = [&](size_t type) { return DenseNames(RankingModel(ctx, OfTwoTasks()[type])); };
  const std::vector<std::string> mmoe = names(4), ple = names(5);
  EXPECT_EQ(mmoe[4], "experts.0.model._mlp.0._linear.weight[7, 15]");
  EXPECT_EQ(mmoe[16], "gates.0.weight[3, 15]");
  EXPECT_EQ(mmoe.back(), "towers.1.model.1.bias[1]");
  EXPECT_EQ(ple[4], "extraction.0.task_experts.0.0.model._mlp.0._linear.weight[7, 15]");
  EXPECT_EQ(std::ranges::count(ple, "extraction.0.shared_gate.weight[7, 15]"), 1);
  EXPECT_EQ(std::ranges::count(ple, "extraction.1.task_gates.1.weight[5, 6]"), 1);
  EXPECT_FALSE(std::ranges::any_of(
      ple, [](const auto& name) { return name.starts_with("extraction.1.shared_gate"); }));
}

TEST_P(RankingModelTest, PooledRowsGiveTheSameBits) {
  Context ctx({.device = device(), .seed = 4});
  for (const RankingModelConfig& config : AllTypes()) {
    RankingModel model(ctx, config);
    const Tensor dense = RandomTensor(ctx, {4, 3});
    EXPECT_TRUE(SameBits(model.Forward(ctx, dense, Batch(ctx)).value(),
                         model.ForwardPooled(ctx, dense, model.Pool(ctx, Batch(ctx))).value()));
  }
}

TEST_P(RankingModelTest, ConfigErrors) {
  Context ctx({.device = device()});
  const auto refuse = [&](size_t type, auto change) {
    RankingModelConfig config = AllTypes()[type];
    change(config);
    EXPECT_THROW(RankingModel(ctx, config), Error);
  };
  refuse(0, [](RankingModelConfig& c) { c.net.dcn_layers = 2; });
  refuse(1, [](RankingModelConfig& c) { c.net.dcn_low_rank = 0; });
  refuse(1, [](RankingModelConfig& c) { c.net.over_arch = {1}; });
  refuse(2, [](RankingModelConfig& c) { c.net.branch1 = {}; });
  refuse(2, [](RankingModelConfig& c) { c.net.branch2 = {13}; });
  refuse(3, [](RankingModelConfig& c) { c.net.hidden = 0; });
  refuse(3, [](RankingModelConfig& c) { c.net.dense_arch = {4}; });
  refuse(3, [](RankingModelConfig& c) { c.tables[1].embedding_dim = 8; });
  refuse(3, [](RankingModelConfig& c) { c.tables.clear(); });
}

constexpr int64_t kTowerOut = 16;  // wide: a few outputs die under ReLU

TwoTowerConfig Towers() {
  return {.query_table = Table("t_user", {"user"}),
          .candidate_table = Table("t_item", {"item"}),
          .layers = {32, kTowerOut}};
}

KeyedJaggedTensor Pairs(Context& ctx, const std::vector<int64_t>& ids) {
  const auto n = static_cast<int64_t>(ids.size());
  return KeyedJaggedTensor::FromLengthsSync({"user", "item"}, Tensor::From(ctx, ids),
                                            Tensor::Full(ctx, {n}, 1, DType::kI64));
}

TEST_P(TwoTowerTest, FindsThePartner) {
  Context ctx({.device = device(), .seed = 5});
  TwoTower model(ctx, Towers());
  DenseOptimizerConfig adam("adam");
  adam.lr = 0.02;
  DenseOptimizer optimizer(ctx, model.Parameters(), adam);
  const std::vector<int64_t> users = {0, 1, 2, 3}, items = {7, 5, 3, 1};
  for (int step = 0; step < 200; ++step) {
    optimizer.ZeroGrad();
    Tape tape(ctx);
    const TowerOutputs towers = model.Forward(ctx, Pairs(ctx, {0, 1, 2, 3, 7, 5, 3, 1}));
    tape.Backward(InBatchSoftmax(ctx, towers.query, towers.candidate, {.temperature = 0.1f}));
    optimizer.Step(ctx);
  }
  const Tensor q = model.EmbedQueries(ctx, Tensor::From(ctx, users)).ToHost(),
               c = model.EmbedCandidates(ctx, Tensor::From(ctx, items)).ToHost();
  const TowerOutputs both = model.Forward(ctx, Pairs(ctx, {0, 1, 2, 3, 7, 5, 3, 1}));
  EXPECT_TRUE(SameBits(q, both.query.value().ToHost()));
  EXPECT_TRUE(SameBits(c, both.candidate.value().ToHost()));
  const auto dot = [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t d = 0; d < kTowerOut; ++d)
      sum += static_cast<double>(q.data<float>()[i * kTowerOut + d]) *
             c.data<float>()[j * kTowerOut + d];
    return sum;
  };
  for (int64_t i = 0; i < 4; ++i)
    for (int64_t other = 1; other < 4; ++other)
      EXPECT_GT(dot(i, i), dot(i, (i + other) % 4)) << i << ", " << other;
}

TEST_P(TwoTowerTest, NamesAndErrors) {
  Context ctx({.device = device()});
  TwoTower model(ctx, Towers());
  EXPECT_EQ(model.StateDict()[1].name, "ebc.embedding_bags.t_item.weight");
  EXPECT_EQ(model.Parameters()[0].name, "query_proj._mlp.0._linear.weight");
  EXPECT_EQ(model.Parameters().back().name, "candidate_proj._mlp.1._linear.bias");
  TwoTowerConfig config = Towers();
  config.candidate_table.embedding_dim = 8;
  EXPECT_THROW(TwoTower(ctx, config), Error);
  config = Towers();
  config.query_table.feature_names = {"user", "other"};
  EXPECT_THROW(TwoTower(ctx, config), Error);
}

// Two ranks, each with a half of the batch, train as one.
TEST(TwoTowerRanks, TrainAsOne) {
  const auto losses = [](Communicator* comm) {
    Context ctx({.threads = 1, .seed = 6});
    std::optional<ModelSharding> sharding;
    const std::vector<TableShape> shapes = {{"t_user", 10, 4}, {"t_item", 10, 4}};
    if (comm != nullptr)
      sharding =
          ModelSharding{.comm = comm,
                        .plan = MakeShardingPlan(
                            {2, 2}, shapes, {{"t_user", RowWise()}, {"t_item", TableWise(1)}})};
    TwoTower model(ctx, Towers(), sharding);
    DenseOptimizer optimizer(ctx, model.Parameters(), DenseOptimizerConfig("sgd"));
    std::optional<DistributedModelParallel> parallel;
    if (comm != nullptr) parallel.emplace(ctx, *comm, model.Parameters());
    std::vector<double> all;
    for (int step = 0; step < 5; ++step) {
      optimizer.ZeroGrad();
      Tape tape(ctx);
      const std::vector<int64_t> ids = comm == nullptr     ? std::vector<int64_t>{0, 1, 7, 5}
                                       : comm->rank() == 0 ? std::vector<int64_t>{0, 7}
                                                           : std::vector<int64_t>{1, 5};
      const Variable logits = model.Logits(ctx, Pairs(ctx, ids));
      const Variable loss = Mse(ctx, logits, Tensor::Full(ctx, {logits.dim(0)}, 1));
      tape.Backward(loss);
      if (parallel) parallel->AverageGradients(ctx);
      optimizer.Step(ctx);
      all.push_back(static_cast<double>(loss.value().ToVector<float>()[0]));
    }
    return all;
  };
  const std::vector<double> alone = losses(nullptr);
  std::vector<double> ranks[2];
  RunLocalRanks(2, [&](Communicator& comm) { ranks[comm.rank()] = losses(&comm); });
  for (size_t i = 0; i < alone.size(); ++i)
    EXPECT_NEAR((ranks[0][i] + ranks[1][i]) / 2, alone[i], 1e-5) << i;
}

}  // namespace
}  // namespace tessera
