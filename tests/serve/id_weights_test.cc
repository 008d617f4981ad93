// Bags of several ids that come with weights: trained, in micro-batches and on ranks, and served to
// C++, C and HTTP.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <numeric>

#include "serve/export/model_writer.h"
#include "serve/http/inference_protocol.h"
#include "serve/predictor.h"
#include "serve/tessera_c.h"
#include "tests/serve/testing/bags_of_ids.h"

namespace tessera {
namespace {

using testing::BagsOfIds;
using testing::ErrorOf;
using ::testing::HasSubstr;
using testing::TempPath;
using testing::TrainOnBags;

TrainConfig Config() {
  TrainConfig config = testing::SmallConfig();
  config.batch_size = 256;
  config.model.weighted = true;
  return ParseTrainConfig(ToJson(config), "id_weights_test");
}

// A click where the ids of cat_0 weigh more than 1.
const BagsOfIds kBags{.weighted = true, .is_click = [](auto, auto weights) {
                        return std::accumulate(weights.begin(), weights.end(), 0.0f) > 1;
                      }};

// A trained model, in a directory.
class IdWeightsTest : public ::testing::Test {
 protected:
  IdWeightsTest() {
    std::filesystem::remove_all(model_);
    losses_ = TrainOnBags(trainer_, kBags, 0, 60);
    const std::string file = TempPath("weighted_ids.safetensors");
    trainer_.Save(file);
    serve::WriteModel(ctx_, ReadCheckpoint(file), {}, model_, {.codec = ParseRowCodec("f32")});
  }
  std::vector<float> Expected(const Batch& batch) {
    return trainer_.Predict(batch).ToVector<float>();
  }

  const TrainConfig config_ = Config();
  Context ctx_{{.threads = 1, .seed = 3}};
  Trainer trainer_{ctx_, config_};
  const std::string model_ = TempPath("weighted_ids");
  std::vector<double> losses_;
};

TEST_F(IdWeightsTest, AreTrainedAndServed) {
  EXPECT_LT(losses_.back(), losses_.front() - 0.1);
  serve::Predictor predictor(model_, {.warm_up = {.requests = 2, .max_batch = 70, .calls = 2}});
  for (const int64_t size : {5, 30'000}) {
    const Batch batch = kBags(ctx_, 100, size);
    EXPECT_EQ(predictor.Predict({.dense = batch.dense, .features = batch.features}),
              Expected(batch));
  }
  // Several requests in one batch.
  const Batch a = kBags(ctx_, 101, 3), b = kBags(ctx_, 102, 4);
  const serve::PredictRequest first{a.dense, a.features}, second{b.dense, b.features};
  const std::vector<const serve::PredictRequest*> both = {&first, &second};
  std::vector<float> expected = Expected(a);
  for (const float score : Expected(b)) expected.push_back(score);
  const std::vector<float> got = predictor.Predict(*predictor.model(), both);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-6) << i;
  EXPECT_THAT(ErrorOf([&] {
                predictor.Predict({.dense = a.dense, .features = a.features.WithWeights({})});
              }),
              HasSubstr("expected a weight for each id, got none"));
}

TEST_F(IdWeightsTest, AreAnArrayInC) {
  const Batch batch = kBags(ctx_, 103, 6);
  const std::unique_ptr<tessera_predictor, void (*)(tessera_predictor*)> predictor(
      tessera_c_create(1), tessera_c_destroy);
  ASSERT_EQ(tessera_c_load(predictor.get(), model_.c_str()), 0) << tessera_c_last_error();
  std::vector<int64_t> lengths, ids;
  std::vector<float> weights, scores(6);
  for (int64_t f = 0; f < tessera_c_num_features(predictor.get()); ++f) {
    const JaggedTensor of = batch.features.At(ctx_, tessera_c_feature_name(predictor.get(), f));
    for (const int64_t n : of.lengths(ctx_).To(ctx_, DType::kI64).ToVector<int64_t>())
      lengths.push_back(n);
    for (const int64_t id : of.values().value().ToVector<int64_t>()) ids.push_back(id);
    for (const float weight : of.weights().value().ToVector<float>()) weights.push_back(weight);
  }
  const tessera_arrays arrays{.dense = batch.dense.data<float>(),
                              .num_dense = 6 * 13,
                              .lengths = lengths.data(),
                              .num_lengths = std::ssize(lengths),
                              .ids = ids.data(),
                              .num_ids = std::ssize(ids),
                              .scores = scores.data(),
                              .num_scores = 6};
  ASSERT_EQ(
      tessera_c_predict_weighted(predictor.get(), 6, &arrays, weights.data(), std::ssize(weights)),
      0)
      << tessera_c_last_error();
  EXPECT_EQ(scores, Expected(batch));
  EXPECT_EQ(tessera_c_predict_weighted(predictor.get(), 6, &arrays, weights.data(), 1), -1);
  EXPECT_THAT(tessera_c_last_error(), HasSubstr("num_weights is 1; expected"));
  EXPECT_EQ(tessera_c_predict_checked(predictor.get(), 6, &arrays), -1);
  EXPECT_THAT(tessera_c_last_error(), HasSubstr("expected a weight for each id"));
}

TEST_F(IdWeightsTest, MayBeNoneInCWhereThereAreNoIds) {
  const std::unique_ptr<tessera_predictor, void (*)(tessera_predictor*)> predictor(
      tessera_c_create(1), tessera_c_destroy);
  ASSERT_EQ(tessera_c_load(predictor.get(), model_.c_str()), 0) << tessera_c_last_error();
  const std::vector<float> dense(13);
  const std::vector<int64_t> lengths(4);
  float score = -1;
  const tessera_arrays arrays{.dense = dense.data(),
                              .num_dense = 13,
                              .lengths = lengths.data(),
                              .num_lengths = 4,
                              .ids = nullptr,
                              .num_ids = 0,
                              .scores = &score,
                              .num_scores = 1};
  ASSERT_EQ(tessera_c_predict_weighted(predictor.get(), 1, &arrays, nullptr, 0), 0)
      << tessera_c_last_error();
  EXPECT_GT(score, 0);
}

TEST_F(IdWeightsTest, AreAnInputOfHttp) {
  serve::Predictor predictor(model_);
  const serve::ModelSpec& spec = predictor.model()->spec();
  std::string zeros = "0";
  for (int i = 1; i < 13; ++i) zeros += ",0";
  const auto asked = [&](const std::string& more) {
    const std::string body =
        R"({"inputs": [{"name": "dense", "shape": [1, 13], "datatype": "FP32", "data": [)" + zeros +
        R"(]}, {"name": "cat_0", "shape": [1, 2], "datatype": "INT64", "data": [5, 6]},)"
        R"({"name": "cat_1", "shape": [1], "datatype": "INT64", "data": [7]},)"
        R"({"name": "cat_2", "shape": [1], "datatype": "INT64", "data": [8]},)"
        R"({"name": "cat_9", "shape": [1], "datatype": "INT64", "data": [1]})" +
        more + "]}";
    return predictor.Predict(serve::ParseInferJson(body, {}, spec).predict)[0];
  };
  const auto expected = [&](float first, float second) {
    std::vector<std::pair<std::string, JaggedTensor>> bags;
    const auto add = [&](const char* key, std::vector<int64_t> ids, std::vector<float> weights) {
      bags.emplace_back(
          key, JaggedTensor(Tensor::From(ctx_, ids), Tensor::From<int64_t>(ctx_, {std::ssize(ids)}),
                            {}, Tensor::From(ctx_, weights)));
    };
    add("cat_0", {5, 6}, {first, second});
    add("cat_1", {7}, {1});
    add("cat_2", {8}, {1});
    add("cat_9", {1}, {1});
    return Expected({.dense = Tensor::Zeros(ctx_, {1, 13}),
                     .features = KeyedJaggedTensor::FromJtDict(ctx_, bags),
                     .labels = Tensor::Zeros(ctx_, {1})})[0];
  };
  EXPECT_EQ(asked(""), expected(1, 1));
  EXPECT_EQ(asked(R"(, {"name": "cat_0.weights", "shape": [1, 2], "datatype": "FP32",)"
                  R"("data": [0.25, 2]})"),
            expected(0.25f, 2));
  EXPECT_THAT(ErrorOf([&] {
                asked(R"(, {"name": "cat_0.weights", "shape": [1], "datatype": "FP32",)"
                      R"("data": [1]})");
              }),
              HasSubstr("input cat_0.weights: expected FP32 [1, 2], as the ids, got f32 [1]"));
  EXPECT_THAT(serve::ModelMetadataJson("m", spec), HasSubstr("cat_9.weights"));
}

TEST(IdWeights, MicroBatchesHaveTheBitsOfOneBatch) {
  testing::ExpectSameInMicroBatches(Config(), kBags);
}

TEST(IdWeights, RanksAreNearOneProcess) { testing::ExpectNearOnRanks(Config(), kBags); }

TEST(IdWeights, RowsOfFilesBringNone) {
  EXPECT_THAT(ErrorOf([] { DataSets(Config(), {}); }),
              HasSubstr("model.weighted: the rows of the format planted bring no weights of ids"));
}

}  // namespace
}  // namespace tessera
