// Sequences pooled by attention, against the formula written out, on each device.
#include "models/attended_net.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "models/ranking_model.h"
#include "models/ranking_net_size.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::RandomTensor;

class AttendedNetTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(AttendedNetTest);

constexpr int64_t kDim = 4, kPositions = 3, kBatch = 5;

RankingNetConfig Net() {
  return {.dense_in = 2,
          .dense_arch = {kDim},
          .over_arch = {6, 1},
          .attention = {
              {.sequence = "hist", .target = "item", .max_length = kPositions, .layers = {7, 5}}}};
}
const std::vector<PooledFeature> kFeatures = {
    {"hist", kDim, kPositions}, {"user", kDim}, {"item", kDim}};

using Parameters = std::map<std::string, std::vector<float>>;

// W·x + b, and ReLU.
std::vector<double> Layer(const Parameters& p, const std::string& name,
                          const std::vector<double>& x, bool relu) {
  std::vector<double> y;
  const std::vector<float>&weight = p.at(name + "weight"), &bias = p.at(name + "bias");
  for (size_t o = 0; o < bias.size(); ++o) {
    double sum = bias[o];
    for (size_t i = 0; i < x.size(); ++i) sum += double{weight[o * x.size() + i]} * x[i];
    y.push_back(relu ? std::max(0.0, sum) : sum);
  }
  return y;
}

double Score(const Parameters& p, const float* q, const float* k) {
  std::vector<double> x(q, q + kDim);
  x.insert(x.end(), k, k + kDim);
  for (int d = 0; d < kDim; ++d) x.push_back(double{q[d]} - k[d]);
  for (int d = 0; d < kDim; ++d) x.push_back(double{q[d]} * k[d]);
  const std::string at = "attention.hist.model.";
  x = Layer(p, at + "0._mlp.0._linear.", x, true);
  x = Layer(p, at + "0._mlp.1._linear.", x, true);
  return Layer(p, at + "1.", x, false)[0];
}

TEST_P(AttendedNetTest, IsTheFormula) {
  Context ctx({.device = device(), .seed = 3});
  const auto net = MakeRankingNet(ctx, Net(), kFeatures);
  Parameters parameters;
  for (const NamedParameter& p : net->Parameters())
    parameters[p.name] = p.variable.value().ToVector<float>();
  const Tensor dense = RandomTensor(ctx, {kBatch, 2}),
               pooled = RandomTensor(ctx, {kBatch, kDim * (kPositions + 2)});
  pooled.Narrow(1, 2 * kDim, kDim).Fill(ctx, 0);  // nobody's third position has an id

  const std::vector<float> rows = pooled.ToVector<float>();
  std::vector<float> plain;
  for (int64_t b = 0; b < kBatch; ++b) {
    const float* row = rows.data() + b * kDim * (kPositions + 2);
    const float* q = row + kDim * (kPositions + 1);
    std::vector<double> sum(kDim);
    for (int64_t l = 0; l < 2; ++l) {
      const double score = Score(parameters, q, row + l * kDim);
      for (int64_t d = 0; d < kDim; ++d) sum[static_cast<size_t>(d)] += score * row[l * kDim + d];
    }
    for (const double s : sum) plain.push_back(static_cast<float>(s));
    plain.insert(plain.end(), row + kPositions * kDim, row + (kPositions + 2) * kDim);
  }
  RankingNetConfig behind = Net();
  behind.attention.clear();
  Context other({.device = device(), .seed = 4});
  const auto inner =
      MakeRankingNet(other, behind, {{"hist", kDim}, {"user", kDim}, {"item", kDim}});
  other.Sync();  // its initial values are not to come after those of `ctx`
  for (const NamedParameter& p : inner->Parameters())
    p.variable.value().CopyFrom(ctx, Tensor::From(ctx, p.variable.shape(), parameters.at(p.name)));
  const std::vector<float> expected =
      inner->Forward(ctx, dense, Tensor::From(ctx, {kBatch, 3 * kDim}, plain))
          .value()
          .ToVector<float>();
  const std::vector<float> got = net->Forward(ctx, dense, pooled).value().ToVector<float>();
  for (size_t b = 0; b < expected.size(); ++b) EXPECT_NEAR(got[b], expected[b], 1e-5) << b;
}

TEST_P(AttendedNetTest, Gradients) {
  Context ctx({.device = device(), .seed = 8});  // no unit is near the kink of its ReLU
  const auto net = MakeRankingNet(ctx, Net(), kFeatures);
  const Tensor dense = RandomTensor(ctx, {kBatch, 2});
  testing::ExpectGradient(ctx,
                          [&](Context& on, const auto& v) {
                            return Mse(on, net->Forward(on, dense, v[0]),
                                       Tensor::Full(on, {kBatch}, 0.5));
                          },
                          {RandomTensor(ctx, {kBatch, kDim * (kPositions + 2)})});
}

TEST_P(AttendedNetTest, ItsSizeIsThatOfItsParameters) {
  Context ctx({.device = device()});
  double numbers = 0;
  for (const NamedParameter& p : MakeRankingNet(ctx, Net(), kFeatures)->Parameters())
    numbers += static_cast<double>(p.variable.value().numel());
  EXPECT_EQ(SizeOfRankingNet(Net(), kFeatures).parameters, numbers);
}

EmbeddingBagConfig Table(const std::string& name, int64_t dim,
                         const std::vector<std::string>& features) {
  EmbeddingBagConfig table;
  table.name = name;
  table.num_embeddings = 10;
  table.embedding_dim = dim;
  table.feature_names = features;
  table.optimizer = Sgd{.lr = 0.05f};
  return table;
}

TEST_P(AttendedNetTest, WhatDoesNotFitIsRefused) {
  Context ctx({.device = device()});
  const auto error = [&](auto change) {
    RankingModelConfig config = {
        .tables = {Table("items", kDim, {"hist", "item"}), Table("users", kDim, {"user"})},
        .net = Net()};
    change(config);
    return ErrorOf([&] { RankingModel(ctx, config); });
  };
  const auto attention = [](auto& c) -> SequenceAttention& { return c.net.attention[0]; };
  EXPECT_EQ(error([](auto&) {}), "");
  EXPECT_THAT(error([&](auto& c) { attention(c).target = "shop"; }),
              HasSubstr("attention of 'hist': expected one table that reads the feature 'shop', "
                        "got 0"));
  EXPECT_THAT(error([&](auto& c) { attention(c).target = "hist"; }),
              HasSubstr("its target 'hist' is a sequence itself"));
  EXPECT_THAT(error([&](auto& c) { c.tables.push_back(Table("more", kDim, {"hist"})); }),
              HasSubstr("expected one table that reads the feature 'hist', got 2"));
  EXPECT_THAT(error([&](auto& c) { attention(c).max_length = 0; }), HasSubstr("max_length"));
  EXPECT_THAT(error([&](auto& c) { attention(c).layers.clear(); }), HasSubstr("at least one size"));
  EXPECT_THAT(error([&](auto& c) {
                c.net.position_weights = {{"hist", 3}};
              }),
              HasSubstr("beside position_weights of it"));
  EXPECT_THAT(error([&](auto& c) { c.net.attention.push_back(attention(c)); }),
              HasSubstr("the sequence is there twice"));
  EXPECT_THAT(error([&](auto& c) {
                c.net = {.type = RankingModelType::kTwoTower,
                         .attention = c.net.attention,
                         .query = {"hist", "user"},
                         .candidate = {"item"},
                         .tower_layers = {4}};
              }),
              HasSubstr("two_tower beside attention"));
}

}  // namespace
}  // namespace tessera
