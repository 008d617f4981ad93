// Models of several tasks on bags of weighted ids: trained, in micro-batches and on ranks, and
// served, each task by its name, to C++, C and HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "serve/export/model_writer.h"
#include "serve/http/inference_protocol.h"
#include "serve/request_queue.h"
#include "serve/tessera_c.h"
#include "tests/serve/testing/bags_of_ids.h"

namespace tessera {
namespace {

using testing::BagsOfIds;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;

// A click where the ids of cat_0 weigh more than 1.
const BagsOfIds kBags{.weighted = true, .is_click = [](auto, auto weights) {
                        return std::accumulate(weights.begin(), weights.end(), 0.0f) > 1;
                      }};

TrainConfig ConfigOf(RankingModelType type) {
  TrainConfig config = testing::SmallConfig();
  config.batch_size = 256;
  RankingNetConfig& net = config.model;
  net.type = type;
  net.weighted = true;
  net.tasks = {{.name = "click", .label = "label"},
               {.name = "number", .label = "label", .loss = TaskLoss::kMse}};
  if (type == RankingModelType::kDlrm) {
    net.dense_in = 0;  // the rows' dense features are left
    net.dense_arch.clear();
    net.over_arch.back() = 2;
  } else {
    net.over_arch.clear();
    net.experts = 2;
    net.expert_arch = {8, 6};
    net.tower_arch = {8, 1};
    config.tables[0].embedding_dim = 6;
  }
  return ParseTrainConfig(ToJson(config), "tasks_test");
}

class ServedTasks : public ::testing::TestWithParam<RankingModelType> {
 protected:
  ServedTasks() {
    std::filesystem::remove_all(model_);
    losses_ = TrainOnBags(trainer_, kBags, 0, 60);
    const std::string file = TempPath("tasks.safetensors");
    trainer_.Save(file);
    serve::WriteModel(ctx_, ReadCheckpoint(file), {}, model_, {.codec = ParseRowCodec("f32")});
  }
  // Dense features as the model reads them.
  Batch Probe(int64_t size) {
    Batch batch = kBags(ctx_, 100, size);
    if (config_.model.dense_in == 0) batch.dense = Tensor::Zeros(ctx_, {size, 0});
    return batch;
  }

  const TrainConfig config_ = ConfigOf(GetParam());
  Context ctx_{{.threads = 1, .seed = 3}};
  Trainer trainer_{ctx_, config_};
  const std::string model_ = TempPath("served_tasks");
  std::vector<double> losses_;
};
INSTANTIATE_TEST_SUITE_P(Types, ServedTasks,
                         ::testing::Values(RankingModelType::kDlrm, RankingModelType::kMmoe),
                         [](const auto& info) { return ToString(info.param); });

TEST_P(ServedTasks, AnswerByName) {
  EXPECT_LT(losses_.back(), losses_.front() - 0.1);
  serve::Predictor predictor(model_, {.warm_up = {.requests = 2, .max_batch = 70, .calls = 2}});
  const Batch batch = Probe(6);
  const std::vector<float> expected = trainer_.Predict(batch).ToVector<float>();
  ASSERT_EQ(expected.size(), 12u);
  EXPECT_EQ(predictor.Predict({.dense = batch.dense, .features = batch.features}), expected);
  EXPECT_EQ(predictor.model()->spec().Outputs(), (std::vector<std::string>{"click", "number"}));

  serve::RequestQueue queue(predictor);
  auto first = queue.Submit({.dense = batch.dense, .features = batch.features}),
       second = queue.Submit({.dense = batch.dense, .features = batch.features});
  const serve::ScoredRequest one = first.get(), other = second.get();
  ASSERT_EQ(other.scores.size(), 12u);
  for (size_t i = 0; i < 12; ++i) EXPECT_NEAR(other.scores[i], expected[i], 1e-6);
  const std::string json =
      serve::AnswerInJson("m", {.scores = {0.5, 2, 0.25, 3}, .outputs = one.outputs}, "").body;
  EXPECT_THAT(json,
              HasSubstr(R"({"name":"click","datatype":"FP32","shape":[2],"data":[0.5,0.25]})"));
  EXPECT_THAT(json, HasSubstr(R"({"name":"number","datatype":"FP32","shape":[2],"data":[2,3]})"));
  EXPECT_THAT(serve::ModelMetadataJson("m", predictor.model()->spec()),
              HasSubstr("\"platform\":\"tessera_" + ToString(GetParam()) + "\""));
  EXPECT_THAT(serve::ModelMetadataJson("m", predictor.model()->spec()),
              HasSubstr(R"({"name":"number","datatype":"FP32","shape":[-1]})"));
  const std::string body = R"({"inputs": [], "outputs": [{"name": "score"}]})";
  EXPECT_THAT(ErrorOf([&] { serve::ParseInferJson(body, {}, predictor.model()->spec()); }),
              HasSubstr(R"(the name "click" or "number")"));
}

TEST_P(ServedTasks, AreColumnsInC) {
  const std::unique_ptr<tessera_predictor, void (*)(tessera_predictor*)> predictor(
      tessera_c_create(1), tessera_c_destroy);
  ASSERT_EQ(tessera_c_load(predictor.get(), model_.c_str()), 0) << tessera_c_last_error();
  ASSERT_EQ(tessera_c_num_outputs(predictor.get()), 2);
  EXPECT_STREQ(tessera_c_output_name(predictor.get(), 1), "number");
  EXPECT_EQ(tessera_c_output_name(predictor.get(), 2), nullptr);
  const std::vector<float> dense(13);
  const std::vector<int64_t> lengths(4);
  float scores[2] = {-1, -1};
  tessera_arrays arrays{.dense = dense.data(),
                        .num_dense = config_.model.dense_in,
                        .lengths = lengths.data(),
                        .num_lengths = 4,
                        .ids = nullptr,
                        .num_ids = 0,
                        .scores = scores,
                        .num_scores = 2};
  ASSERT_EQ(tessera_c_predict_weighted(predictor.get(), 1, &arrays, nullptr, 0), 0)
      << tessera_c_last_error();
  EXPECT_GT(scores[0], 0);
  EXPECT_NE(scores[1], -1);
  arrays.num_scores = 1;
  EXPECT_EQ(tessera_c_predict_weighted(predictor.get(), 1, &arrays, nullptr, 0), -1);
  EXPECT_THAT(tessera_c_last_error(), HasSubstr("num_scores is 1; expected 2"));
  EXPECT_EQ(tessera_c_predict(predictor.get(), 1, dense.data(), lengths.data(), nullptr, scores),
            -1);
  EXPECT_THAT(tessera_c_last_error(), HasSubstr("the model has 2 outputs"));
}

TEST_P(ServedTasks, MicroBatchesHaveTheBitsOfOneBatch) {
  testing::ExpectSameInMicroBatches(ConfigOf(GetParam()), kBags);
}

TEST_P(ServedTasks, RanksAreNearOneProcess) {
  testing::ExpectNearOnRanks(ConfigOf(GetParam()), kBags);
}

}  // namespace
}  // namespace tessera
