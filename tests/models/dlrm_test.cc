#include "models/dlrm.h"

#include <gtest/gtest.h>

#include <cmath>

#include "optim/dense_optimizer.h"
#include "runtime/ops/loss.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::RandomTensor;

class DlrmTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(DlrmTest);

DlrmConfig SmallConfig(AnyRule rule = Sgd{0.1f}) {
  DlrmConfig config;
  for (const auto& [name, features] :
       {std::pair<const char*, std::vector<std::string>>{"t_a", {"a"}}, {"t_b", {"b", "c"}}}) {
    EmbeddingBagConfig table;
    table.name = name;
    table.num_embeddings = 10;
    table.embedding_dim = 4;
    table.feature_names = features;
    table.optimizer = rule;
    config.tables.push_back(table);
  }
  config.dense_in = 3;
  config.dense_arch = {5, 4};
  config.over_arch = {6, 1};
  return config;
}

// Batch of 4; the keys in another order than the tables', one bag empty.
KeyedJaggedTensor Batch(Context& ctx) {
  return KeyedJaggedTensor::FromLengthsSync(
      {"c", "a", "b"}, Tensor::From<int64_t>(ctx, {1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1, 2}),
      Tensor::From<int64_t>(ctx, {1, 1, 1, 1, 2, 0, 1, 1, 1, 1, 1, 1}));
}

TEST_P(DlrmTest, NamesAreTorchRecs) {
  Context ctx({.device = device()});
  const Dlrm model(ctx, SmallConfig());
  std::vector<std::string> names;
  for (const NamedTensor& t : model.StateDict())
    names.push_back(t.name + ToString(t.tensor.shape()));
  EXPECT_EQ(
      names,
      (std::vector<std::string>{
          "sparse_arch.embedding_bag_collection.embedding_bags.t_a.weight[10, 4]",
          "sparse_arch.embedding_bag_collection.embedding_bags.t_b.weight[10, 4]",
          "dense_arch.model._mlp.0._linear.weight[5, 3]", "dense_arch.model._mlp.0._linear.bias[5]",
          "dense_arch.model._mlp.1._linear.weight[4, 5]", "dense_arch.model._mlp.1._linear.bias[4]",
          "over_arch.model.0._mlp.0._linear.weight[6, 10]",
          "over_arch.model.0._mlp.0._linear.bias[6]", "over_arch.model.1.weight[1, 6]",
          "over_arch.model.1.bias[1]"}));
  EXPECT_EQ(model.Parameters("model.")[0].name, "model.dense_arch.model._mlp.0._linear.weight");
  EXPECT_EQ(model.Parameters().size(), 8u);
  EXPECT_EQ(Dlrm(ctx, SmallConfig(Dense{})).Parameters().size(), 10u);
}

// With one step of plain SGD everywhere, tables in dense mode and tables updated inside backward
// end the same.
TEST_P(DlrmTest, FusedUpdateAgreesWithDenseGradients) {
  Context ctx({.device = device(), .seed = 1});
  Dlrm fused(ctx, SmallConfig()), dense(ctx, SmallConfig(Dense{}));
  dense.LoadStateDict(ctx, fused.StateDict());
  const Tensor x = RandomTensor(ctx, {4, 3}), labels = Tensor::From<float>(ctx, {0, 1, 1, 0});
  for (Dlrm* model : {&fused, &dense}) {
    DenseOptimizerConfig sgd("sgd");
    sgd.lr = 0.1;
    DenseOptimizer optimizer(ctx, model->Parameters(), sgd);
    Tape tape(ctx);
    const Variable logits = model->Forward(ctx, x, Batch(ctx));
    ASSERT_EQ(logits.shape(), (Shape{4}));
    tape.Backward(BceWithLogits(ctx, logits, labels));
    optimizer.Step(ctx);
  }
  const std::vector<NamedTensor> a = fused.StateDict(), b = dense.StateDict();
  for (size_t i = 0; i < a.size(); ++i) {
    const std::vector<float> x0 = a[i].tensor.ToVector<float>(), x1 = b[i].tensor.ToVector<float>();
    for (size_t e = 0; e < x0.size(); ++e)
      EXPECT_NEAR(x0[e], x1[e], 1e-6) << a[i].name << "[" << e << "]";
  }
}

std::vector<NamedTensor> Trained(Device device, int threads) {
  Context ctx({.device = device, .threads = threads, .seed = 7});
  Dlrm model(ctx, SmallConfig(RowwiseAdagrad{0.1f}));
  DenseOptimizer optimizer(ctx, model.Parameters(), DenseOptimizerConfig("adam"));
  for (int step = 0; step < 5; ++step) {
    optimizer.ZeroGrad();
    Tape tape(ctx);
    tape.Backward(BceWithLogits(ctx, model.Forward(ctx, RandomTensor(ctx, {4, 3}), Batch(ctx)),
                                Tensor::Full(ctx, {4}, 1)));
    optimizer.Step(ctx);
  }
  return model.StateDict();
}

TEST_P(DlrmTest, TrainingBitsDoNotDependOnThreadsOrRuns) {
  const auto one = Trained(device(), 1), three = Trained(device(), 3);
  for (size_t i = 0; i < one.size(); ++i)
    EXPECT_TRUE(SameBits(one[i].tensor, three[i].tensor)) << one[i].name;
}

// Products differ in the order of their sums, and the rest follows.
TEST_P(DlrmTest, TrainsAsOnTheCpu) {
  const auto here = Trained(device(), 1), there = Trained(Device::Cpu(), 1);
  for (size_t i = 0; i < here.size(); ++i) {
    const std::vector<float> a = here[i].tensor.ToVector<float>(),
                             b = there[i].tensor.ToVector<float>();
    for (size_t e = 0; e < a.size(); ++e)
      EXPECT_NEAR(a[e], b[e], 1e-5) << here[i].name << "[" << e << "]";
  }
}

TEST_P(DlrmTest, LoadStateDictIsStrictAndAtomic) {
  Context ctx({.device = device(), .seed = 2});
  Dlrm model(ctx, SmallConfig());
  std::vector<NamedTensor> good;
  for (const NamedTensor& t : model.StateDict())
    good.push_back({t.name, RandomTensor(ctx, t.tensor.shape())});
  std::vector<Tensor> before;
  for (const NamedTensor& t : model.StateDict()) before.push_back(t.tensor.Clone(ctx));
  const auto refuse = [&](std::vector<NamedTensor> tensors) {
    EXPECT_THROW(model.LoadStateDict(ctx, tensors), Error);
    const std::vector<NamedTensor> now = model.StateDict();
    for (size_t i = 0; i < now.size(); ++i)
      EXPECT_TRUE(SameBits(now[i].tensor, before[i])) << now[i].name;
  };
  auto changed = good;
  changed.pop_back();
  refuse(changed);  // missing
  changed = good;
  changed.push_back({"surplus", good[0].tensor});
  refuse(changed);
  changed = good;
  changed.push_back(good[0]);
  refuse(changed);  // twice
  changed = good;
  changed.back().tensor = RandomTensor(ctx, {2});
  refuse(changed);
  changed.back().tensor = Tensor::Zeros(ctx, {1}, DType::kF64);
  refuse(changed);
  model.LoadStateDict(ctx, good);
  const std::vector<NamedTensor> now = model.StateDict();
  for (size_t i = 0; i < now.size(); ++i)
    EXPECT_TRUE(SameBits(now[i].tensor, good[i].tensor)) << now[i].name;
}

TEST_P(DlrmTest, ConfigErrors) {
  Context ctx({.device = device()});
  const auto refuse = [&](auto change) {
    DlrmConfig config = SmallConfig();
    change(config);
    EXPECT_THROW(Dlrm(ctx, config), Error);
  };
  refuse([](DlrmConfig& c) { c.dense_in = 0; });
  refuse([](DlrmConfig& c) { c.dense_arch = {}; });
  refuse([](DlrmConfig& c) { c.dense_arch = {5, 8}; });
  refuse([](DlrmConfig& c) { c.over_arch = {1}; });
  refuse([](DlrmConfig& c) { c.over_arch = {6, 2}; });
  refuse([](DlrmConfig& c) { c.tables[1].embedding_dim = 8; });
  Dlrm model(ctx, SmallConfig());
  EXPECT_THROW(model.Forward(ctx, RandomTensor(ctx, {4, 2}), Batch(ctx)), Error);
  EXPECT_THROW(model.Forward(ctx, RandomTensor(ctx, {5, 3}), Batch(ctx)), Error);
}

}  // namespace
}  // namespace tessera
