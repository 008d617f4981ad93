#ifndef TESSERA_TESTS_TRAIN_TESTING_MODEL_CONFIGS_H_
#define TESSERA_TESTS_TRAIN_TESTING_MODEL_CONFIGS_H_
// A training of a second or less for each type of model.
#include "tests/train/testing/small_run.h"
#include "train/config/train_config.h"

namespace tessera::testing {

inline TrainConfig ConfigOf(RankingModelType type) {
  TrainConfig config = SmallConfig();
  RankingNetConfig& net = config.model;
  net.type = type;
  if (type == RankingModelType::kDlrmDcn) net.dcn_layers = net.dcn_low_rank = 2;
  if (type == RankingModelType::kDlrmProjection) net.branch1 = net.branch2 = {8};
  if (type == RankingModelType::kDeepFm)
    net = {.type = type, .dense_in = net.dense_in, .hidden = 8, .deep_fm_dim = 8};
  if (type == RankingModelType::kTwoTower) {
    net = {.type = type};
    net.query = {"cat_0", "cat_1"};
    net.candidate = {"cat_2", "cat_9"};
    net.tower_layers = {8, 4};
  } else if (TakesAnyDims(type)) {
    net.over_arch.clear();
    net.experts = 2;
    net.expert_arch = {8, 6};
    net.tower_arch = {4, 1};
    config.tables[1].embedding_dim = 6;
  }
  if (type == RankingModelType::kPle) net.extraction_layers = net.task_experts = 2;
  return ParseTrainConfig(ToJson(config), "model_configs.h");
}

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_TRAIN_TESTING_MODEL_CONFIGS_H_
