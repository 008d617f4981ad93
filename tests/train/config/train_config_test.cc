// Training configurations: reading them, and that a written one reads the same.
#include "train/config/train_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "tests/testing/rules.h"
#include "tests/train/config/good_config.h"
#include "train/config/start_checks.h"

namespace tessera {
namespace {

using testing::kGood;
using testing::With;

// The error that CheckStart throws, "" for none.
std::string StartError(const TrainConfig& config, bool of_ranks = false) {
  try {
    CheckStart(config, "x.json", of_ranks);
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(TrainConfig, AStartRefusesRulesThatTablesOrParametersDoNotTake) {
  TrainConfig config = ParseTrainConfig(kGood, "x.json");
  EXPECT_EQ(StartError(config), "");
  config.tables[0].optimizer = EmaInPlaceRowwiseAdagrad{};
  EXPECT_EQ(StartError(config), "");
  config.tables[0].embedding_dim = 7;
  const std::string dim =
      "tables[0].dim: emainplace_rowwise_adagrad: its rows are two halves: expected an even dim, "
      "got 7";
  EXPECT_EQ(StartError(config).find("x.json: " + dim), 0u) << StartError(config);
  config.dense_optimizer = DenseOptimizerConfig("rowwise_adagrad");
  const std::string both = StartError(config);
  EXPECT_EQ(both.find("x.json: 2 problems:\n  " + dim), 0u) << both;
  EXPECT_NE(both.find("\n  optimizer.dense.name: rowwise_adagrad keeps one number for each row"),
            std::string::npos)
      << both;
  config = ParseTrainConfig(kGood, "x.json");
  config.tables[0].optimizer = Dense{};
  config.tables[0].location = EmbeddingLocation::kDisk;
  EXPECT_NE(StartError(config).find("x.json: tables[0].location: table "), std::string::npos);
  EXPECT_NE(StartError(config).find("is for rules that update rows, not for dense"),
            std::string::npos);
  EXPECT_EQ(StartError(config, true), "");  // the plan may give it another
}

TEST(TrainConfig, AStartRefusesACacheWithoutRoomForASet) {
  TrainConfig config = ParseTrainConfig(kGood, "x.json");
  EmbeddingBagConfig& table = config.tables[1];
  table.optimizer = RowwiseAdagrad{};
  table.data_type = DType::kF32;
  table.embedding_dim = 8;
  table.location = EmbeddingLocation::kDisk;
  table.cache.ways = 4;
  table.cache.bytes = 4 * (8 * 4 + 4);
  EXPECT_EQ(StartError(config), "");
  --table.cache.bytes;
  EXPECT_EQ(StartError(config),
            "x.json: tables[1].cache.bytes: a cache of 143 bytes has no room for one set: 4 ways, "
            "each a row of 36 bytes with its states, take 144 bytes: give as many, or fewer ways");
  EXPECT_EQ(StartError(config, true), "");  // a plan may cut its columns
}

TEST(TrainConfig, ReadsEveryKey) {
  const TrainConfig config = ParseTrainConfig(kGood, "x.json");
  ASSERT_EQ(config.tables.size(), 2u);
  const EmbeddingBagConfig &a = config.tables[0], &b = config.tables[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.num_embeddings, 10);
  EXPECT_EQ(a.embedding_dim, 4);
  EXPECT_EQ(a.pooling, PoolingType::kMean);
  EXPECT_EQ(a.feature_names, (std::vector<std::string>{"cat_0", "cat_3"}));
  EXPECT_EQ(a.data_type, DType::kF16);
  EXPECT_EQ(a.state_type, DType::kBF16);
  EXPECT_TRUE(a.stochastic_rounding);
  EXPECT_EQ(a.init_range, (std::pair{-0.1f, 0.2f}));
  const Adam adam = std::get<Adam>(a.optimizer);
  EXPECT_EQ(adam.lr, 0.5f);
  EXPECT_EQ(adam.beta1, 0.8);
  EXPECT_EQ(adam.beta2, 0.999);
  EXPECT_TRUE(adam.use_rowwise_bias_correction);
  EXPECT_EQ(b.pooling, PoolingType::kSum);
  EXPECT_FALSE(b.init_range);
  const RowwiseAdagrad rule = std::get<RowwiseAdagrad>(b.optimizer);
  EXPECT_EQ(rule.lr, 0.02f);
  EXPECT_EQ(rule.weight_decay, 0.1f);
  EXPECT_EQ(rule.weight_decay_mode, WeightDecayMode::kL2);
  EXPECT_EQ(config.model.dense_arch, (std::vector<int64_t>{8, 4}));
  EXPECT_EQ(config.model.over_arch, (std::vector<int64_t>{8, 1}));
  EXPECT_EQ(config.dense_optimizer.name, "adam");
  EXPECT_EQ(config.dense_optimizer.lr, 0.25);
  EXPECT_TRUE(config.dense_optimizer.amsgrad);
  ASSERT_EQ(config.warmup.size(), 2u);
  EXPECT_EQ(config.warmup[0].policy, WarmupPolicy::kLinear);
  EXPECT_EQ(config.warmup[0].max_iters, 10);
  EXPECT_EQ(config.warmup[0].value, 0.5);
  EXPECT_EQ(config.warmup[0].lr_scale, 1);
  EXPECT_EQ(config.warmup[1].policy, WarmupPolicy::kStep);
  EXPECT_EQ(config.warmup[1].decay_iters, 4);
  EXPECT_EQ(config.warmup[1].lr_scale, 2);
  EXPECT_EQ(config.gradient_clipping.mode, GradientClipping::kNorm);
  EXPECT_EQ(config.gradient_clipping.max_gradient, 0.75);
  EXPECT_TRUE(std::isinf(config.gradient_clipping.norm_type));
  EXPECT_EQ(config.data.missing, MissingIds::kEmptyBag);
  EXPECT_EQ(config.batch_size, 32);
  EXPECT_EQ(config.epochs, 3);
  EXPECT_EQ(config.seed, 7u);
  const std::vector<CategoricalFeature> features = Features(config);
  ASSERT_EQ(features.size(), 3u);
  EXPECT_EQ(features[1].name, "cat_3");
  EXPECT_EQ(features[1].rows, 10);
  EXPECT_EQ(features[2].rows, 20);
}

TEST(TrainConfig, PlantedData) {
  const TrainConfig config = ParseTrainConfig(
      With(
          R"({"format": "criteo", "missing": "empty_bag"})",
          R"({"format": "planted", "rows": 100, "eval_rows": 10, "seed": 3, "vocabulary": 9, "zipf": 1.5, "click_rate": 0.5,
               "missing_rate": 0, "strength": 2})"),
      "x.json");
  EXPECT_EQ(config.data.format, DataFormat::kPlanted);
  EXPECT_EQ(config.data.missing, MissingIds::kRow0);
  EXPECT_EQ(config.data.rows, 100);
  EXPECT_EQ(config.data.eval_rows, 10);
  EXPECT_EQ(config.data.planted.seed, 3u);
  EXPECT_EQ(config.data.planted.vocabulary, 9);
  EXPECT_EQ(config.data.planted.zipf, 1.5);
  EXPECT_EQ(config.data.planted.click_rate, 0.5);
  EXPECT_EQ(config.data.planted.missing_rate, 0);
  EXPECT_EQ(config.data.planted.strength, 2);
}

TEST(TrainConfig, OtherData) {
  const std::string criteo = R"({"format": "criteo", "missing": "empty_bag"})";
  const DataConfig random =
      ParseTrainConfig(
          With(criteo, R"({"format": "random", "rows": 9, "seed": 2, "distinct_rows": 5,
                                        "ids_per_feature": [1, 2, 3]})"),
          "x.json")
          .data;
  EXPECT_EQ(random.format, DataFormat::kRandom);
  EXPECT_EQ(random.rows, 9);
  EXPECT_EQ(random.random.seed, 2u);
  EXPECT_EQ(random.random.distinct_rows, 5);
  EXPECT_EQ(random.random.ids_per_feature, (std::vector<int64_t>{1, 2, 3}));
  EXPECT_FALSE(random.shuffle);
  const auto shuffle =
      ParseTrainConfig(
          With(criteo, R"({"shuffle": {"seed": 4, "window_rows": 50, "block_rows": 6}})"), "x.json")
          .data.shuffle;
  EXPECT_EQ(shuffle, (ShuffleOptions{.seed = 4, .window_rows = 50, .block_rows = 6}));
}

TEST(TrainConfig, MovieLensHasItsOwnFeatures) {
  std::string text = R"({"tables": [{"name": "a", "rows": 9, "dim": 4, "features": ["userId"]}],
    "model": {"type": "dlrm", "dense_in": 1, "dense_arch": [4], "over_arch": [8, 1]},
    "optimizer": {"sparse": {"name": "sgd", "lr": 1}, "dense": {"name": "sgd", "lr": 1}},
    "data": {"format": "movielens", "like_from": 3.5}})";
  const TrainConfig config = ParseTrainConfig(text, "x.json");
  EXPECT_EQ(config.data.like_from, 3.5f);
  EXPECT_EQ(ToJson(ParseTrainConfig(ToJson(config), "again")), ToJson(config));
  text.replace(text.find("\"dense_in\": 1"), 13, "\"dense_in\": 2");
  EXPECT_THROW(ParseTrainConfig(text, "x.json"), Error);
}

TEST(TrainConfig, WritesWhatItReads) {
  for (const std::string& text :
       {std::string(kGood), With(R"("format": "criteo")", R"("format": "planted", "rows": 5)"),
        With(R"("format": "criteo", "missing": "empty_bag")", R"("format": "random", "rows": 5)"),
        With(R"("format": "criteo")", R"("shuffle": {"seed": 3})")}) {
    const std::string json = ToJson(ParseTrainConfig(text, "x.json"));
    EXPECT_EQ(ToJson(ParseTrainConfig(json, "again")), json);
    EXPECT_NE(json.find(R"("lr":0.02,)"), std::string::npos) << json;
  }
}

TEST(TrainConfig, PositionWeightsRoundTrip) {
  const std::string text =
      With(R"("over_arch": [8, 1])", R"("over_arch": [8, 1], "position_weights": {"cat_25": 3})");
  const TrainConfig config = ParseTrainConfig(text, "x.json");
  EXPECT_EQ(config.model.position_weights, (std::map<std::string, int64_t>{{"cat_25", 3}}));
  const TrainConfig again = ParseTrainConfig(ToJson(config), "again");
  EXPECT_EQ(again.model.position_weights, config.model.position_weights);
}

TEST(TrainConfig, EveryRuleReadsWhatItWrites) {
  TrainConfig config = ParseTrainConfig(kGood, "x.json");
  for (const AnyRule& rule : testing::AllRules()) {
    config.tables[0].optimizer = rule;
    const std::string json = ToJson(config);
    EXPECT_EQ(ToJson(ParseTrainConfig(json, "again")), json);
  }
}

TEST(TrainConfig, EveryOptimizerRoundTrips) {
  for (
      const char* rule :
      {R"({"name":"sgd","lr":0.1})", R"({"name":"adagrad","lr":0.1,"eps":1e-06})",
       R"({"name":"partial_rowwise_adam","lr":0.1,"eps":1e-08,"beta1":0.5,"beta2":0.75,"weight_decay":0.25})",
       R"({"name":"dense"})"}) {
    const std::string json = ToJson(ParseTrainConfig(
        With(
            R"({"name": "rowwise_adagrad", "lr": 0.02, "weight_decay": 0.1, "weight_decay_mode": "L2"})",
            rule),
        "x"));
    EXPECT_NE(json.find(rule), std::string::npos) << json;
  }
  for (const char* dense : {"sgd", "adagrad", "rowwise_adagrad", "adamw"}) {
    const std::string text = With(R"({"name": "adam", "lr": 0.25, "amsgrad": true})",
                                  Format(R"({{"name": "{}"}})", dense));
    const std::string json = ToJson(ParseTrainConfig(text, "x"));
    EXPECT_EQ(ToJson(ParseTrainConfig(json, "again")), json);
  }
}

TEST(TrainConfig, EveryStageRoundTrips) {
  for (
      const char* stage :
      {R"({"policy":"none","max_iters":9,"lr_scale":2.0})",
       R"({"policy":"linear","max_iters":9,"value":0.5,"lr_scale":1.0})",
       R"({"policy":"constant","max_iters":9,"value":0.5,"lr_scale":1.0})",
       R"({"policy":"poly","max_iters":9,"value":2.0,"decay_iters":12,"lr_scale":1.0})",
       R"({"policy":"poly","max_iters":9,"value":2.0,"lr_scale":1.0})",
       R"({"policy":"step","max_iters":9,"value":0.5,"decay_iters":3,"lr_scale":1.0})",
       R"({"policy":"cosine_annealing_warm_restarts","max_iters":9,"value":0.5,"sgdr_period":3,"lr_scale":1.0})",
       R"({"policy":"interpolate","max_iters":9,"value":0.5,"start_interpolating_iters":2,"end_value":1.5,"lr_scale":1.0})",
       R"({"policy":"linear","max_iters":9,"value":0.5,"lr_scale":1.0},{"policy":"inv_sqrt","max_iters":12,"lr_scale":3.0})"}) {
    const std::string json = ToJson(ParseTrainConfig(
        With(R"({"policy": "linear", "max_iters": 10, "value": 0.5},)", std::string(stage) + ","),
        "x"));
    EXPECT_NE(json.find(stage), std::string::npos) << json;
  }
}

TEST(TrainConfig, EveryClippingRoundTrips) {
  for (const char* clipping : {R"({"mode":"none","max_gradient":0.1,"norm_type":2.0})",
                               R"({"mode":"value","max_gradient":3.0,"norm_type":2.0})",
                               R"({"mode":"norm","max_gradient":0.5,"norm_type":1.5})",
                               R"({"mode":"norm","max_gradient":0.5,"norm_type":"inf"})"}) {
    const std::string json = ToJson(ParseTrainConfig(
        With(R"({"mode": "norm", "max_gradient": 0.75, "norm_type": "inf"})", clipping), "x"));
    EXPECT_NE(json.find(clipping), std::string::npos) << json;
  }
}

TEST(TrainConfig, DenseProducts) {
  const auto parsed = [](const std::string& products) {
    return ParseTrainConfig(
        With(R"("seed": 7)", R"("seed": 7, "dense_products": ")" + products + '"'), "x.json");
  };
  for (const DenseProducts products :
       {DenseProducts::kDefault, DenseProducts::kPortable, DenseProducts::kLibrary,
        DenseProducts::kTf32, DenseProducts::kBf16}) {
    const TrainConfig config = parsed(ToString(products));
    EXPECT_EQ(config.dense_products, products);
    EXPECT_EQ(ParseTrainConfig(ToJson(config), "x.json").dense_products, products);
  }
  EXPECT_THROW(parsed("eigen"), Error);
}

TEST(TrainConfig, DefaultsOfOptionalParts) {
  std::string text = With(R"("data": {"format": "criteo", "missing": "empty_bag"},)", "");
  const size_t warmup = text.find(R"(,
                "warmup")");
  text.erase(warmup, text.find(R"("inf"})") + 6 - warmup);
  const std::string train = R"(,
  
  "train": {"batch_size": 32, "epochs": 3, "seed": 7})";
  ASSERT_NE(text.find(train), std::string::npos);
  text.erase(text.find(train), train.size());
  const TrainConfig config = ParseTrainConfig(text, "x.json");
  EXPECT_EQ(config.batch_size, 256);
  EXPECT_EQ(config.epochs, 1);
  EXPECT_EQ(config.data.missing, MissingIds::kRow0);
  EXPECT_TRUE(config.warmup.empty());
  EXPECT_EQ(config.gradient_clipping.mode, GradientClipping::kNone);
}

}  // namespace
}  // namespace tessera
