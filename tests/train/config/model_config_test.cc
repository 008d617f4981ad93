// "model" of a training's configuration, for every type.
#include <gtest/gtest.h>

#include "tests/train/testing/files.h"
#include "train/config/train_config.h"

namespace tessera {
namespace {

TrainConfig Parse(const std::string& model) {
  return ParseTrainConfig(
      R"({"tables": [{"name": "a", "rows": 9, "dim": 4, "features": ["cat_0"]},
                     {"name": "b", "rows": 9, "dim": 4, "features": ["cat_1"]}],
          "optimizer": {"sparse": {"name": "sgd"}, "dense": {"name": "sgd"}}, "model": )" +
          model + "}",
      "x.json");
}
std::string ErrorIn(const std::string& model) {
  return testing::ErrorOf([&] { Parse(model); });
}

constexpr char kDcn[] = R"({"type": "dlrm_dcn", "dense_arch": [8, 4], "over_arch": [6, 1],
                            "dcn_layers": 3, "dcn_low_rank": 2})";
constexpr char kProjection[] = R"({"type": "dlrm_projection", "dense_arch": [8, 4],
                                   "over_arch": [6, 1], "branch1": [5, 8], "branch2": [4]})";
constexpr char kDeepFm[] = R"({"type": "deepfm", "dense_in": 13, "hidden": 7, "deep_fm_dim": 5})";

constexpr char kPle[] = R"({"type": "ple", "dense_in": 0, "experts": 2, "expert_arch": [8, 5],
    "tower_arch": [3, 1], "layers": 2, "task_experts": 1,
    "tasks": [{"label": "label"}, {"label": "label", "name": "number", "loss": "mse"}]})";

TEST(ModelConfig, MixturesAndModelsWithoutDenseFeatures) {
  const TrainConfig config = Parse(kPle);
  EXPECT_EQ(config.model.extraction_layers, 2);
  EXPECT_EQ(config.model.tasks[1].name, "number");
  EXPECT_EQ(ToJson(ParseTrainConfig(ToJson(config), "again")), ToJson(config));
  EXPECT_EQ(Parse(R"({"type": "dlrm", "dense_in": 0, "over_arch": [6, 1]})").model.dense_in, 0);
  EXPECT_EQ(Parse(R"({"type": "deepfm", "dense_in": 0, "deep_fm_dim": 5})").model.hidden, 0);
  EXPECT_EQ(
      ErrorIn(R"({"type": "dlrm", "dense_in": 0, "dense_arch": [8, 4], "over_arch": [6, 1]})"),
      "x.json: model.dense_in: expected an integer above 0, got 0");
  EXPECT_EQ(ErrorIn(R"({"type": "dlrm", "over_arch": [6, 1]})"),
            "x.json: model.dense_arch: the key is missing");
  EXPECT_EQ(ErrorIn(R"({"type": "mmoe", "dense_in": 0, "experts": 2, "expert_arch": [8],
                        "tower_arch": [3, 2]})"),
            "x.json: model.tower_arch: expected a last layer of 1, the logit, got 2");
}

TEST(ModelConfig, SizesOfEveryType) {
  const RankingNetConfig dcn = Parse(kDcn).model;
  EXPECT_EQ(dcn.type, RankingModelType::kDlrmDcn);
  EXPECT_EQ(dcn.dense_in, 13);
  EXPECT_EQ(dcn.dcn_layers, 3);
  EXPECT_EQ(dcn.dcn_low_rank, 2);
  const RankingNetConfig projection = Parse(kProjection).model;
  EXPECT_EQ(projection.branch1, (std::vector<int64_t>{5, 8}));
  EXPECT_EQ(projection.branch2, (std::vector<int64_t>{4}));
  const RankingNetConfig deepfm = Parse(kDeepFm).model;
  EXPECT_EQ(deepfm.hidden, 7);
  EXPECT_EQ(deepfm.deep_fm_dim, 5);
  EXPECT_TRUE(deepfm.over_arch.empty());
}

TEST(ModelConfig, JsonComesBack) {
  for (const char* model : {kDcn, kProjection, kDeepFm}) {
    const std::string json = ToJson(Parse(model));
    EXPECT_EQ(ToJson(ParseTrainConfig(json, "x.json")), json);
  }
}

TEST(ModelConfig, Errors) {
  EXPECT_EQ(ErrorIn(R"({"dense_arch": [4], "over_arch": [6, 1]})"),
            "x.json: model.type: the key is missing");
  EXPECT_EQ(ErrorIn(R"({"type": "dlrm_dcn", "dense_arch": [4], "over_arch": [6, 1]})"),
            "x.json: 2 problems:\n  model.dcn_layers: the key is missing\n  model.dcn_low_rank: "
            "the key is missing");
  EXPECT_EQ(ErrorIn(R"({"type": "dlrm_projection", "dense_arch": [4], "over_arch": [6, 1],
                        "branch1": [6], "branch2": [4]})"),
            "x.json: model.branch1: expected a last layer that is a multiple of 4, the last of "
            "dense_arch, got 6");
  EXPECT_EQ(ErrorIn(R"({"type": "dlrm_projection", "dense_in": 0, "over_arch": [6, 1],
                        "branch1": [4], "branch2": [6]})")
                .find("x.json: model: branch2: expected a last layer that is a multiple of 4, the "
                      "dim of the tables, got 6"),
            0u);
  EXPECT_EQ(ErrorIn(R"({"type": "deepfm", "hidden": 0, "deep_fm_dim": 5})"),
            "x.json: model.hidden: expected an integer above 0, got 0");
  EXPECT_EQ(
      ErrorIn(R"({"type": "deepfm", "hidden": 7, "deep_fm_dim": 5, "over_arch": [6, 1]})"),
      "x.json: model.over_arch: unknown key; known here: type, dense_in, hidden, deep_fm_dim, "
      "weighted, position_weights, attention, tasks");
}

}  // namespace
}  // namespace tessera
