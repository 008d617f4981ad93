#ifndef TESSERA_TRAIN_MODEL_CONFIG_H_
#define TESSERA_TRAIN_MODEL_CONFIG_H_
// The model of a training's configuration.
#include "train/config/train_config.h"
#include "train/nn/ranking_model.h"

namespace tessera {

RankingModelConfig RankingModelConfigOf(const TrainConfig& config);

}  // namespace tessera
#endif  // TESSERA_TRAIN_MODEL_CONFIG_H_
