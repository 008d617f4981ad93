// The loss of two towers with a temperature, embeddings of length 1 and a correction by how often
// candidates come, against the formula in double.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "models/ranking_model.h"
#include "models/tower_net.h"
#include "tests/testing/devices.h"
#include "tests/testing/finite_differences.h"

namespace tessera {
namespace {

using testing::RandomTensor;

class TowerLossTest : public testing::DeviceTest {};
TESSERA_INSTANTIATE_DEVICES(TowerLossTest);

constexpr int64_t kRows = 5, kDim = 4, kOut = 16;

RankingModelConfig Towers(float temperature, bool normalize) {
  const auto table = [](const std::string& name) {
    EmbeddingBagConfig config;
    config.name = "t_" + name;
    config.num_embeddings = 10;
    config.embedding_dim = kDim;
    config.feature_names = {name};
    return config;
  };
  RankingNetConfig net{.type = RankingModelType::kTwoTower,
                       .tasks = {{.name = "choice", .label = "", .loss = TaskLoss::kInBatchSoftmax},
                                 {.name = "click", .label = "click"}},
                       .query = {"user"},
                       .candidate = {"item"},
                       .tower_layers = {kOut}};
  net.temperature = temperature;
  net.normalize = normalize;
  return {.tables = {table("user"), table("item")}, .net = net};
}

Variable Outputs(Context& ctx, const RankingModel& model, const Variable& pooled) {
  return model.ForwardPooled(ctx, Variable(Tensor::Zeros(ctx, {kRows, 0})), pooled);
}

// Scores [B][B] of plain embeddings [B, 2·E].
std::vector<std::vector<double>> Scores(const std::vector<float>& x, double temperature,
                                        bool normalize) {
  const auto at = [&](int64_t row, int64_t column) {
    return static_cast<double>(x[static_cast<size_t>(row * 2 * kOut + column)]);
  };
  const auto dot = [&](int64_t r, int64_t from_r, int64_t s, int64_t from_s) {
    double sum = 0;
    for (int64_t d = 0; d < kOut; ++d) sum += at(r, from_r + d) * at(s, from_s + d);
    return sum;
  };
  std::vector<std::vector<double>> scores(kRows, std::vector<double>(kRows));
  for (int64_t r = 0; r < kRows; ++r)
    for (int64_t s = 0; s < kRows; ++s) {
      const double lengths =
          normalize ? std::sqrt(dot(r, 0, r, 0)) * std::sqrt(dot(s, kOut, s, kOut)) : 1;
      scores[static_cast<size_t>(r)][static_cast<size_t>(s)] =
          dot(r, 0, s, kOut) / lengths / temperature;
    }
  return scores;
}

double Loss(const std::vector<std::vector<double>>& scores, const std::vector<float>& log_q) {
  double loss = 0;
  for (size_t r = 0; r < scores.size(); ++r) {
    double sum = 0;
    for (size_t s = 0; s < scores.size(); ++s) sum += std::exp(scores[r][s] - log_q[s]);
    loss += std::log(sum) - (scores[r][r] - log_q[r]);
  }
  return loss / static_cast<double>(scores.size());
}

TEST_P(TowerLossTest, IsTheFormula) {
  const std::vector<float> corrections[] = {{0, 0, 0, 0, 0}, {-7, 0, -1, -3.5f, 1.25f}};
  for (const auto& [temperature, normalize] :
       {std::pair{1.0f, false}, {0.25f, false}, {1.0f, true}, {0.05f, true}}) {
    Context ctx({.device = device(), .seed = 4}), plain_ctx({.device = device(), .seed = 4});
    const RankingModel model(ctx, Towers(temperature, normalize)),
        plain(plain_ctx, Towers(1, false));
    plain_ctx.Sync();  // `ctx` reads its parameters
    const Tensor pooled = RandomTensor(ctx, {kRows, 2 * kDim});
    const Variable outputs = Outputs(ctx, model, Variable(pooled));
    const auto scores = Scores(Outputs(ctx, plain, Variable(pooled)).value().ToVector<float>(),
                               temperature, normalize);
    const LossRows rows = RowsThatCount(ctx, kRows, {}, {}, {});
    for (const std::vector<float>& log_q : corrections) {
      const Variable loss =
          model.LossOfTask(ctx, outputs, 0, rows, 1, {}, Tensor::From(ctx, log_q));
      EXPECT_NEAR(loss.value().ToVector<float>()[0], Loss(scores, log_q), 1e-5)
          << temperature << normalize << log_q[0];
    }
    const std::vector<float> answers = model.Probabilities(ctx, outputs).ToVector<float>();
    for (size_t r = 0; r < kRows; ++r) {
      EXPECT_NEAR(answers[2 * r], scores[r][r], 1e-4);
      EXPECT_NEAR(answers[2 * r + 1], 1 / (1 + std::exp(-scores[r][r])), 1e-5);
    }
  }
}

TEST_P(TowerLossTest, GradientsAreDifferences) {
  for (const bool normalize : {false, true}) {
    Context ctx({.device = device(), .seed = 9});
    const RankingModel model(ctx, Towers(0.5f, normalize));
    const LossRows rows = RowsThatCount(ctx, kRows, {}, {}, {});
    const Tensor log_q = Tensor::From<float>(ctx, {-2, 0, -0.5f, -3.5f, 1.25f});
    testing::ExpectGradients(
        ctx,
        [&](Context& on, const std::vector<Variable>& x) {
          const Variable outputs = Outputs(on, model, x[0]);
          return std::vector{model.LossOfTask(on, outputs, 0, rows, 1, {}, log_q)};
        },
        {RandomTensor(ctx, {kRows, 2 * kDim})}, {.step = 1.0f / 512, .tolerance = 2e-3});
  }
}

TEST(TowerLoss, SettingsThatDoNotFitAreRefused) {
  Context ctx({.threads = 1});
  const auto refused = [&](auto change) {
    RankingModelConfig config = Towers(1, false);
    change(config.net);
    EXPECT_THROW(RankingModel(ctx, config), Error);
  };
  refused([](RankingNetConfig& net) { net.temperature = 0; });
  refused([](RankingNetConfig& net) { net.temperature = INFINITY; });
  refused([](RankingNetConfig& net) { net.sampling_correction = {.slots = 0}; });
  refused([](RankingNetConfig& net) { net.sampling_correction = {.alpha = 1.5}; });
  refused([](RankingNetConfig& net) {
    net.sampling_correction.emplace();
    net.tasks.erase(net.tasks.begin());
  });
}

}  // namespace
}  // namespace tessera
