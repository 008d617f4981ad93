// Training configurations that are refused: errors say which key, what was expected and what came.
#include <gtest/gtest.h>

#include <string>

#include "optim/rule_options.h"
#include "tests/train/config/good_config.h"
#include "tests/train/testing/files.h"
#include "train/config/train_config.h"

namespace tessera {
namespace {

using testing::ErrorOf;
using testing::With;

std::string ErrorIn(const std::string& text) {
  return ErrorOf([&] { ParseTrainConfig(text, "x.json"); });
}

// All names, and where others come from.
std::string RuleNames() {
  std::string names;
  ForEachNamedRule(
      [&](auto rule) { names += (names.empty() ? "" : ", ") + std::string(rule.kName); });
  return names + "; --plugin FILE adds that of a shared object";
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
            "trian: unknown key (did you mean 'train'?); known here: optimizer, managed_collision, "
            "tables, model, data, "
            "train, evaluation, metrics, $schema"},
        Bad{R"("train": {)", R"("evaluation": {"every": 1}, "train": {)",
            "evaluation.every: expected a fraction of an epoch, above 0 and below 1, got 1"},
        Bad{R"("train": {)", R"("evaluation": {"every": 0.5, "every_steps": 3}, "train": {)",
            "evaluation.every beside evaluation.every_steps: expected one of the two"},
        Bad{R"("train": {)", R"("evaluation": {"every_steps": 0}, "train": {)",
            "evaluation.every_steps: expected an integer above 0, got 0"},
        Bad{R"("train": {)", R"("evaluation": {"metric": ""}, "train": {)",
            R"(evaluation.metric: expected a metric's name, got "")"},
        Bad{R"("train": {)", R"("evaluation": {"target": "auc"}, "train": {)",
            R"(evaluation.target: expected a number, got "auc")"},
        Bad{R"("train": {)", R"("evaluation": {"patience": -1}, "train": {)",
            "evaluation.patience: expected 0 or more, got -1"},
        Bad{R"("train": {)", R"("evaluation": {"stop": 1}, "train": {)",
            "evaluation.stop: unknown key; known here: every_steps, every, metric, target, "
            "patience"},
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
        Bad{R"("rows": 20)", R"("row": 20)",
            "2 problems:\n  tables[1].rows: the key is missing\n  tables[1].row: unknown key (did "
            "you mean "
            "'rows'?); known here: name, rows, dim, pooling, features, dtype, state_dtype, "
            "stochastic_rounding, location, cache, init_range, optimizer, managed_collision"},
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
            "tables[1].cache.way: unknown key (did you mean 'ways'?); known here: policy, ways, "
            "load_factor, bytes, "
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
            R"(model.type: expected "dlrm" or "dlrm_dcn" or "dlrm_projection" or "deepfm" or )"
            R"("mmoe" or "ple" or "two_tower", got "dcn")"},
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
            "optimizer.sparse.name: no optimizer of tables is called 'rowwise'; there are " +
                RuleNames()},
        Bad{R"("lr": 0.02)", R"("lr": -0.02)",
            "optimizer.sparse.lr: expected a number that is not negative, got -0.02"},
        Bad{R"({"name": "rowwise_adagrad", "lr": 0.02)",
            R"({"name": "momentum_sgd", "momentum": 1.5, "lr": 0.02)",
            "2 problems:\n  optimizer.sparse.momentum: expected a number below 1, got 1.5\n"
            "  optimizer.sparse.weight_decay_mode: unknown key; known here: name, lr, momentum, "
            "weight_decay, nesterov"},
        Bad{R"("lr": 0.02)", R"("learning_rate": 0.02)",
            "optimizer.sparse.learning_rate: unknown key; known here: name, lr, eps, weight_decay, "
            "weight_decay_mode, max_norm"},
        Bad{R"("L2")", R"("l2")",
            R"(optimizer.sparse.weight_decay_mode: expected "NONE" or "L2" or "DECOUPLE" or "ADAGRADW", got "l2" (did you mean 'L2'?))"},
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
        Bad{R"("policy": "linear", )", "", "optimizer.warmup[0].policy: the key is missing"},
        Bad{R"("max_iters": 10, )", "", "optimizer.warmup[0].max_iters: the key is missing"},
        Bad{R"("value": 0.5)", R"("decay_iters": 5)",
            "optimizer.warmup[0].decay_iters: unknown key; known here: policy, max_iters, value, "
            "lr_scale"},
        Bad{R"("value": 0.5)", R"("value": "0.5")",
            R"(optimizer.warmup[0].value: expected a number, got "0.5")"},
        Bad{R"("value": 0.5)", R"("value": -0.5)",
            "optimizer.warmup[0].value: expected a number that is not negative, got -0.5"},
        Bad{R"("warmup": [)", R"("warmup": 5, "x": [)",
            "2 problems:\n  optimizer.warmup: expected a list of stages, got 5\n  optimizer.x: "
            "unknown key; known here: sparse, dense, warmup, gradient_clipping"},
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
        Bad{R"("format": "criteo")", R"("format": "parquet")",
            R"(data.format: expected "criteo" or "planted" or "random" or "movielens" or "jsonl" )"
            R"(or "csv" or "tsv" or "npz", got "parquet")"},
        Bad{R"("format": "criteo")", R"("format": "criteo", "rows": 5)",
            "data.rows: unknown key; known here: format, missing, prepared, shuffle, split"},
        Bad{R"("format": "criteo")", R"("shuffle": {"window_rows": 0})",
            "data.shuffle.window_rows: expected an integer above 0, got 0"},
        Bad{R"("format": "criteo", "missing": "empty_bag")", R"("format": "movielens")",
            "feature 'cat_0': ratings have userId and movieId"},
        Bad{R"("format": "criteo", "missing": "empty_bag")",
            R"("format": "random", "rows": 5, "ids_per_feature": [0])",
            "data.ids_per_feature[0]: expected an integer above 0, got 0"},
        Bad{R"("format": "criteo")", R"("format": "planted")", "data.rows: the key is missing"},
        Bad{R"("format": "criteo")", R"("format": "planted", "rows": 5, "zipf": "1")",
            R"(data.zipf: expected a number, got "1")"},
        Bad{R"("format": "criteo")", R"("format": "planted", "rows": 5, "click_rate": 2)",
            "planted data: click_rate: expected a number between 0 and 1"},
        Bad{R"("batch_size": 32)", R"("batch_size": 0)",
            "train.batch_size: expected an integer above 0, got 0"},
        Bad{R"("seed": 7)", R"("seed": -7)",
            "train.seed: expected a number that is not negative, got -7"},
        Bad{R"("tables": [)", R"("tables": 5, "x": [)",
            "2 problems:\n  tables: expected a list of at least one table, got 5\n  x: unknown "
            "key; known here: optimizer, managed_collision, tables, model, data, train, "
            "evaluation, metrics, $schema"}));

TEST(TrainConfig, AllProblemsAreOneAnswer) {
  const char* text = R"({
    "tables": [{"name": "a", "rows": "many", "dim": 4, "features": []}],
    "model": {"type": "dlrm_dcn", "dense_arch": [8, 4], "over_arch": [8, 1], "dcn_layer": 2},
    "optimizer": {"sparse": {"name": "sgd", "lr": -1}, "dense": {"name": "sgd", "lr": "fast"}},
    "data": {"format": "planted", "row": 5},
    "train": {"batch_size": 0, "epochs": 0, "seed": -1},
    "evaluation": {"patience": -1}})";
  EXPECT_EQ(ErrorIn(text),
            "x.json: 13 problems:\n"
            "  optimizer.sparse.lr: expected a number that is not negative, got -1\n"
            "  optimizer.dense.lr: expected a number, got \"fast\"\n"
            "  tables[0].rows: expected an integer, got \"many\"\n"
            "  tables[0].features: expected at least one feature\n"
            "  model.dcn_layers: the key is missing\n"
            "  model.dcn_low_rank: the key is missing\n"
            "  model.dcn_layer: unknown key (did you mean 'dcn_layers'?); known here: type, "
            "dense_in, dense_arch, over_arch, dcn_layers, dcn_low_rank, weighted, "
            "position_weights, attention, tasks\n"
            "  data.rows: the key is missing\n"
            "  data.row: unknown key (did you mean 'rows'?); known here: format, missing, "
            "prepared, shuffle, "
            "rows, eval_rows, seed, vocabulary, zipf, click_rate, missing_rate, strength\n"
            "  train.batch_size: expected an integer above 0, got 0\n"
            "  train.epochs: expected an integer above 0, got 0\n"
            "  train.seed: expected a number that is not negative, got -1\n"
            "  evaluation.patience: expected 0 or more, got -1");
}

// The other keys of an object whose type, name, … is wrong are read as those of the kind that they
// fit best, and every other section is read.
TEST(TrainConfig, AWrongKindHidesNoOtherProblem) {
  const char* text = R"({
    "tables": [{"name": "a", "rows": 5, "dim": 4, "features": ["cat_0"],
                "optimizer": {"name": "adm", "beta1": 2, "eps": "small"}}],
    "managed_collision": {"kind": "mhc", "mch_size": -1, "admission": {"kind": "dynamics", "x": 1}},
    "model": {"type": "dcn", "dense_arch": [8, 4], "dcn_layers": 2, "dcn_low_rank": "8"},
    "optimizer": {"sparse": {"lr": -1, "momentum": 0.5}, "dense": {"name": "adm", "amsgrad": 1},
                  "warmup": [{"policy": "lineal", "value": "half"}]},
    "data": {"format": "planned", "rows": 5, "zipf": "1", "vocabulry": 3},
    "train": {"epochs": 0}})";
  EXPECT_EQ(
      ErrorIn(text),
      "x.json: 21 problems:\n"
      "  optimizer.sparse.name: the key is missing; its other keys are read as those of "
      "\"momentum_sgd\"\n"
      "  optimizer.sparse.lr: expected a number that is not negative, got -1\n"
      "  optimizer.dense.name: no dense optimizer is called 'adm' (did you mean 'adam'?); there "
      "are sgd, adagrad, "
      "rowwise_adagrad, adam, adamw; its other keys are read as those of \"adam\"\n"
      "  optimizer.dense.amsgrad: expected true or false, got 1\n"
      "  optimizer.warmup[0].policy: no policy is called 'lineal' (did you mean 'linear'?); there "
      "are none, linear, constant, poly, step, inv_sqrt, cosine_annealing_warm_restarts, "
      "interpolate; its other keys "
      "are read as those of \"linear\"\n"
      "  optimizer.warmup[0].max_iters: the key is missing\n"
      "  optimizer.warmup[0].value: expected a number, got \"half\"\n"
      "  managed_collision.kind: expected \"growing\" or \"mch\" or \"hash_zch\", got \"mhc\" "
      "(did you mean 'mch'?); its other keys are read as those of \"mch\"\n"
      "  managed_collision.admission.kind: expected \"all\" or \"dynamic\" or \"average\" or "
      "\"probabilistic\", got \"dynamics\" (did you mean 'dynamic'?); its other keys are read as "
      "those of \"dynamic\"\n"
      "  managed_collision.admission.x: unknown key; known here: kind, skew_multiplier\n"
      "  managed_collision.mch_size: expected 0 to 9223372036854775805, got -1\n"
      "  tables[0].optimizer.name: no optimizer of tables is called 'adm' (did you mean 'adam'?); "
      "there are " +
          RuleNames() +
          "; its other keys are read as those of \"adam\"\n"
          "  tables[0].optimizer.eps: expected a number, got \"small\"\n"
          "  tables[0].optimizer.beta1: expected a number below 1, got 2\n"
          "  model.type: expected \"dlrm\" or \"dlrm_dcn\" or \"dlrm_projection\" or \"deepfm\" or "
          "\"mmoe\" or \"ple\" or \"two_tower\", got \"dcn\"; its other keys are read as those of "
          "\"dlrm_dcn\"\n"
          "  model.over_arch: the key is missing\n"
          "  model.dcn_low_rank: expected an integer, got \"8\"\n"
          "  data.format: expected \"criteo\" or \"planted\" or \"random\" or \"movielens\" or "
          "\"jsonl\" or \"csv\" or \"tsv\" or \"npz\", got \"planned\" (did you mean 'planted'?); "
          "its other keys are read as "
          "those of \"planted\"\n"
          "  data.zipf: expected a number, got \"1\"\n"
          "  data.vocabulry: unknown key (did you mean 'vocabulary'?); known here: format, "
          "missing, prepared, "
          "shuffle, rows, eval_rows, seed, vocabulary, zipf, click_rate, missing_rate, strength\n"
          "  train.epochs: expected an integer above 0, got 0");
}

TEST(TrainConfig, AWrongKindAloneIsOneProblem) {
  EXPECT_EQ(
      ErrorIn(With(R"("type": "dlrm", "dense_in": 13, "dense_arch": [8, 4], "over_arch": [8, 1])",
                   R"("type": "dcn")")),
      R"(x.json: model.type: expected "dlrm" or "dlrm_dcn" or "dlrm_projection" or "deepfm" )"
      R"(or "mmoe" or "ple" or "two_tower", got "dcn")");
  EXPECT_EQ(ErrorIn(With(R"("type": "dlrm", )", "")), "x.json: model.type: the key is missing");
  EXPECT_EQ(ErrorIn(With(R"("type": "dlrm")", R"("type": 5)")),
            "x.json: model.type: expected a string, got 5");
}

// A bad value hides no key that is read after it, and asks for none that it decides on.
TEST(TrainConfig, WhatFollowsABadValueIsStillKnown) {
  EXPECT_EQ(ErrorIn(With(R"("dense_in": 13)", R"("dense_in": -1)")),
            "x.json: model.dense_in: expected 0 or more, got -1");
  EXPECT_EQ(ErrorIn(With(R"("rows": 20)", R"("rows": 20, "location": "MOON", "cache": {})"))
                .find("x.json: tables[1].location: expected"),
            0u);
  EXPECT_EQ(ErrorIn(With(R"("train": {)",
                         R"("metrics": {"min_compute_interval": "1", "max_compute_interval": 2},
                            "train": {)")),
            "x.json: metrics.min_compute_interval: expected a number, got \"1\"");
  EXPECT_EQ(ErrorIn(With(R"("tables": [)",
                         R"("managed_collision": {"kind": "mch"}, "tables": 5, "x": [)"))
                .find("x.json: 2 problems:\n  tables: expected a list"),
            0u);
}

// Sections that do not fit each other are found together, too, once each is good by itself.
TEST(TrainConfig, SectionsThatDoNotFitAreOneAnswer) {
  std::string text = With(R"("rows": 20, "dim": 4)", R"("rows": 20, "dim": 8)");
  text.replace(text.find(R"("dense_in": 13)"), 14, R"("dense_in": 12)");
  EXPECT_EQ(ErrorIn(text),
            "x.json: 2 problems:\n"
            "  table 'b': expected dim 4, the last layer of model.dense_arch, got 8\n"
            "  model.dense_in: expected 13, the integers of a row, got 12");
}

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
