#include "train/config/train_config.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "tests/testing/rules.h"
#include "tests/train/testing/files.h"

namespace tessera {
namespace {

using testing::ErrorOf;

constexpr char kGood[] = R"({
  "tables": [
    {"name": "a", "rows": 10, "dim": 4, "pooling": "MEAN", "features": ["cat_0", "cat_3"], "dtype": "f16",
     "state_dtype": "bf16", "stochastic_rounding": true,
     "init_range": [-0.1, 0.2], "optimizer": {"name": "adam", "lr": 0.5, "beta1": 0.8, "use_rowwise_bias_correction": true}},
    {"name": "b", "rows": 20, "dim": 4, "features": ["cat_25"]}],
  "model": {"type": "dlrm", "dense_in": 13, "dense_arch": [8, 4], "over_arch": [8, 1]},
  "optimizer": {"sparse": {"name": "rowwise_adagrad", "lr": 0.02, "weight_decay": 0.1, "weight_decay_mode": "L2"},
                "dense": {"name": "adam", "lr": 0.25, "amsgrad": true},
                "warmup": [{"policy": "linear", "max_iters": 10, "value": 0.5},
                           {"policy": "step", "max_iters": 20, "value": 0.25, "decay_iters": 4, "lr_scale": 2}],
                "gradient_clipping": {"mode": "norm", "max_gradient": 0.75, "norm_type": "inf"}},
  "data": {"format": "criteo", "missing": "empty_bag"},
  "train": {"batch_size": 32, "epochs": 3, "seed": 7}})";

// kGood with one piece of text replaced.
std::string With(const std::string& from, const std::string& to) {
  std::string text = kGood;
  const size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::string ErrorIn(const std::string& text) {
  return ErrorOf([&] { ParseTrainConfig(text, "x.json"); });
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

struct Bad {
  std::string from, to, error;
};

class BadConfigs : public ::testing::TestWithParam<Bad> {};

TEST_P(BadConfigs, AreErrorsThatSayWhere) {
  EXPECT_EQ(ErrorIn(With(GetParam().from, GetParam().to)), "x.json: " + GetParam().error);
}
INSTANTIATE_TEST_SUITE_P(
    All, BadConfigs,
    ::testing::Values(
        Bad{R"("train": {)", R"("trian": {)",
            "trian: unknown key; known here: optimizer, tables, managed_collision, model, data, "
            "train, metrics"},
        Bad{R"("over_arch": [8, 1])", R"("over_arch": [8, 1], "position_weights": {"cat_7": 3})",
            "model.position_weights: no table reads the feature 'cat_7'"},
        Bad{R"("over_arch": [8, 1])", R"("over_arch": [8, 1], "position_weights": {"cat_3": 0})",
            "model.position_weights.cat_3: expected an integer above 0, got 0"},
        Bad{R"("over_arch": [8, 1])", R"("over_arch": [8, 1], "position_weights": [3])",
            "model.position_weights: expected an object {feature: longest bag, …}, got [3]"},
        Bad{R"("over_arch": [8, 1])",
            R"("over_arch": [8, 1], "weighted": true, "position_weights": {"cat_3": 2})",
            "model.position_weights: beside weighted, the weights that ids come with: expected one "
            "of them"},
        Bad{R"("rows": 20)", R"("row": 20)", "tables[1].rows: is missing"},
        Bad{R"("rows": 20)", R"("rows": 20, "shards": 2)",
            "tables[1].shards: unknown key; known here: name, rows, dim, pooling, features, dtype, "
            "state_dtype, stochastic_rounding, location, cache, init_range, optimizer, "
            "managed_collision"},
        Bad{R"("rows": 20)", R"("rows": 20, "location": "MOON")",
            R"(tables[1].location: expected "DEVICE" or "HOST" or "MANAGED" or "MANAGED_CACHING" )"
            R"(or "DISK", got "MOON")"},
        Bad{R"("rows": 20)", R"("rows": 20, "cache": {})",
            "tables[1].cache: only a table whose location is MANAGED_CACHING or DISK has a cache"},
        Bad{R"("rows": 20)", R"("rows": 20, "location": "MANAGED_CACHING", "cache": {"way": 1})",
            "tables[1].cache.way: unknown key; known here: policy, ways, load_factor, bytes, "
            "scratch_rows, folder"},
        Bad{R"("rows": 20)", R"("rows": "20")", R"(tables[1].rows: expected an integer, got "20")"},
        Bad{R"("rows": 20)", R"("rows": 2.5)", "tables[1].rows: expected an integer, got 2.5"},
        Bad{R"("rows": 20)", R"("rows": 0)",
            "tables[1] ('b'): rows: expected an integer above 0, got 0"},
        Bad{R"("rows": 20)", R"("rows": 1152921504606846977)",
            "tables[1] ('b'): rows: expected at most 281474976710656, got 1152921504606846977"},
        Bad{R"("rows": 20, "dim": 4)", R"("rows": 20, "dim": 1048577)",
            "tables[1] ('b'): dim: expected at most 1048576, got 1048577"},
        Bad{R"("rows": 20, "dim": 4)", R"("rows": 281474976710656, "dim": 4)",
            "tables[1] ('b'): 281474976710656 rows of dim 4: expected at most 281474976710656 "
            "numbers in all"},
        Bad{R"("rows": 20)",
            R"("rows": 20, "location": "MANAGED_CACHING", "cache": {"ways": 4294967304})",
            "tables[1].cache.ways: expected at most 256, got 4294967304"},
        Bad{R"("rows": 20)", R"("rows": 18446744073709551615)",
            "tables[1].rows: expected an integer, got 18446744073709551615"},
        Bad{R"("rows": 20, "dim": 4)", R"("rows": 20, "dim": -4)",
            "tables[1] ('b'): dim: expected an integer above 0, got -4"},
        Bad{R"("rows": 20, "dim": 4)", R"("rows": 20, "dim": 8)",
            "table 'b': expected dim 4, the last layer of model.dense_arch, got 8"},
        Bad{R"("MEAN")", R"("MAX")", R"(tables[0].pooling: expected "SUM" or "MEAN", got "MAX")"},
        Bad{R"("f16")", R"("f64")",
            R"(tables[0].dtype: expected "f32" or "f16" or "bf16", got "f64")"},
        Bad{R"([-0.1, 0.2])", R"([0.2, -0.1])",
            "tables[0].init_range: expected [low, high], got [0.2,-0.1]"},
        Bad{R"(["cat_25"])", R"([])", "tables[1].features: expected at least one feature"},
        Bad{R"(["cat_25"])", R"([25])", "tables[1].features[0]: expected a string, got 25"},
        Bad{R"(["cat_25"])", R"(["cat_26"])", "feature 'cat_26': the data has cat_0 to cat_25"},
        Bad{R"(["cat_25"])", R"(["cat_3"])",
            "tables: feature 'cat_3' is read by 'a', of 10 rows, and by 'b', of 20: its ids are "
            "taken modulo the rows, so expected as many"},
        Bad{R"(["cat_0", "cat_3"])", R"(["cat_0", "cat_0"])",
            "tables: feature 'cat_0' is there twice in 'a'"},
        Bad{R"("name": "b")", R"("name": "a")", "tables: two are called 'a'"},
        Bad{R"("name": "b")", R"("name": "")", "tables[1].name: expected a name that is not empty"},
        Bad{R"("name": "b")", R"("name": "b", "name": "c")", R"(the key "name" is given twice)"},
        Bad{R"("dlrm")", R"("dcn")",
            R"(model.type: expected "dlrm" or "dlrm_dcn" or "dlrm_projection" or "deepfm", got "dcn")"},
        Bad{R"("dense_in": 13)", R"("dense_in": 12)",
            "model.dense_in: expected 13, the integers of a row, got 12"},
        Bad{R"([8, 1])", R"([8, 2])",
            "model.over_arch: expected a last layer of 1, the logit, got 2"},
        Bad{R"([8, 1])", R"([1])", "model.over_arch: expected at least two layers"},
        Bad{R"([8, 1])", R"([0, 1])", "model.over_arch[0]: expected an integer above 0, got 0"},
        Bad{R"([8, 1])", R"([8000000000, 1])",
            "model.over_arch[0]: expected at most 1048576, got 8000000000"},
        Bad{R"("dense_in": 13)", R"("dense_in": 9223372036854775807)",
            "model.dense_in: expected at most 1048576, got 9223372036854775807"},
        Bad{R"([8, 4])", R"([])", "model.dense_arch: expected at least one layer"},
        Bad{R"("rowwise_adagrad")", R"("rowwise")",
            "optimizer.sparse.name: no optimizer of tables is called 'rowwise'; there are sgd, "
            "momentum_sgd, lars_sgd, adagrad, rowwise_adagrad, counter_rowwise_adagrad, "
            "cowclip_rowwise_adagrad, global_decay_rowwise_adagrad, ensemble_rowwise_adagrad, "
            "emainplace_rowwise_adagrad, rowwise_rmsprop_ar, adam, adamw, partial_rowwise_adam, "
            "lamb, partial_rowwise_lamb, lion, ftrl, dense"},
        Bad{R"("lr": 0.02)", R"("lr": -0.02)",
            "optimizer.sparse.lr: expected a number that is not negative, got -0.02"},
        Bad{R"("lr": 0.02)", R"("learning_rate": 0.02)",
            "optimizer.sparse.learning_rate: unknown key; known here: name, lr, eps, weight_decay, "
            "weight_decay_mode, max_norm"},
        Bad{R"("L2")", R"("l2")",
            R"(optimizer.sparse.weight_decay_mode: expected "NONE" or "L2" or "DECOUPLE" or "ADAGRADW", got "l2")"},
        Bad{R"("beta1": 0.8)", R"("beta1": 1)",
            "tables[0].optimizer.beta1: expected a number below 1, got 1"},
        Bad{R"(correction": true)", R"(correction": 1)",
            "tables[0].optimizer.use_rowwise_bias_correction: expected true or false, got 1"},
        Bad{R"({"name": "adam", "lr": 0.25)", R"({"name": "lion", "lr": 0.25)",
            "optimizer.dense.name: no dense optimizer is called 'lion'; there are sgd, adagrad, "
            "rowwise_adagrad, adam, adamw"},
        Bad{R"("lr": 0.25)", R"("lr": true)", "optimizer.dense.lr: expected a number, got true"},
        Bad{R"("amsgrad": true)", R"("momentum": 0.5)",
            "optimizer.dense.momentum: unknown key; known here: name, lr, weight_decay, eps, "
            "beta1, beta2, amsgrad, maximize"},
        Bad{R"("policy": "linear")", R"("policy": "cosine")",
            "optimizer.warmup[0].policy: no policy is called 'cosine'; there are none, linear, "
            "constant, poly, step, inv_sqrt, cosine_annealing_warm_restarts, interpolate"},
        Bad{R"("policy": "linear", )", "", "optimizer.warmup[0].policy: is missing"},
        Bad{R"("max_iters": 10, )", "", "optimizer.warmup[0].max_iters: is missing"},
        Bad{R"("value": 0.5)", R"("decay_iters": 5)",
            "optimizer.warmup[0].decay_iters: unknown key; known here: policy, max_iters, value, "
            "lr_scale"},
        Bad{R"("value": 0.5)", R"("value": "0.5")",
            R"(optimizer.warmup[0].value: expected a number, got "0.5")"},
        Bad{R"("value": 0.5)", R"("value": -0.5)",
            "optimizer.warmup[0].value: expected a number that is not negative, got -0.5"},
        Bad{R"("warmup": [)", R"("warmup": 5, "x": [)",
            "optimizer.warmup: expected a list of stages, got 5"},
        Bad{R"("mode": "norm")", R"("mode": "l2")",
            R"(optimizer.gradient_clipping.mode: expected "none" or "norm" or "value", got "l2")"},
        Bad{R"("max_gradient": 0.75)", R"("max_gradient": 0)",
            "optimizer.gradient_clipping.max_gradient: expected a number above 0, got 0.0"},
        Bad{R"("max_gradient": 0.75)", R"("max_norm": 0.75)",
            "optimizer.gradient_clipping.max_norm: unknown key; known here: mode, max_gradient, "
            "norm_type"},
        Bad{R"("norm_type": "inf")", R"("norm_type": 0)",
            R"(optimizer.gradient_clipping.norm_type: expected a number above 0 or "inf", got 0)"},
        Bad{R"("empty_bag")", R"("zero")",
            R"(data.missing: expected "row0" or "empty_bag", got "zero")"},
        Bad{R"("format": "criteo")", R"("format": "csv")",
            R"(data.format: expected "criteo" or "planted" or "random" or "movielens", got "csv")"},
        Bad{R"("format": "criteo")", R"("format": "criteo", "rows": 5)",
            "data.rows: unknown key; known here: format, missing, shuffle"},
        Bad{R"("format": "criteo")", R"("shuffle": {"window_rows": 0})",
            "data.shuffle.window_rows: expected an integer above 0, got 0"},
        Bad{R"("format": "criteo", "missing": "empty_bag")", R"("format": "movielens")",
            "feature 'cat_0': ratings have userId and movieId"},
        Bad{R"("format": "criteo", "missing": "empty_bag")",
            R"("format": "random", "rows": 5, "ids_per_feature": [0])",
            "data.ids_per_feature[0]: expected an integer above 0, got 0"},
        Bad{R"("format": "criteo")", R"("format": "planted")", "data.rows: is missing"},
        Bad{R"("format": "criteo")", R"("format": "planted", "rows": 5, "zipf": "1")",
            R"(data.zipf: expected a number, got "1")"},
        Bad{R"("format": "criteo")", R"("format": "planted", "rows": 5, "click_rate": 2)",
            "planted data: click_rate: expected a number between 0 and 1"},
        Bad{R"("batch_size": 32)", R"("batch_size": 0)",
            "train.batch_size: expected an integer above 0, got 0"},
        Bad{R"("seed": 7)", R"("seed": -7)",
            "train.seed: expected a number that is not negative, got -7"},
        Bad{R"("tables": [)", R"("tables": 5, "x": [)",
            "tables: expected a list of at least one table, got 5"}));

TEST(TrainConfig, StagesThatMakeNoSenseAreErrors) {
  const std::string error =
      ErrorIn(With(R"("policy": "step", "max_iters": 20)", R"("policy": "step", "max_iters": 10)"));
  EXPECT_EQ(error.find("x.json: optimizer.warmup: warmup stage 1 (step): max_iters 10; expected "
                       "more than 10"),
            0u)
      << error;
}

TEST(TrainConfig, WhatIsNoJsonIsAnErrorWithItsPlace) {
  EXPECT_NE(ErrorIn("{\"tables\": [}").find("x.json: parse error at line 1, column 13"),
            std::string::npos)
      << ErrorIn("{\"tables\": [}");
  EXPECT_NE(ErrorIn("").find("x.json: parse error"), std::string::npos);
  EXPECT_EQ(ErrorIn("[1]"), "x.json: the document: expected an object {…}, got [1]");
}

TEST(TrainConfig, MissingFileIsAnError) {
  EXPECT_NE(
      ErrorOf([] { ReadTrainConfig("/nowhere/x.json"); }).find("/nowhere/x.json: cannot be read"),
      std::string::npos);
}

}  // namespace
}  // namespace tessera
