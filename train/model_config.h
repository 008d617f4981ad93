#ifndef TESSERA_TRAIN_MODEL_CONFIG_H_
#define TESSERA_TRAIN_MODEL_CONFIG_H_
// The model of a training's configuration.
#include "models/ranking_model.h"
#include "train/config/train_config.h"

namespace tessera {

RankingModelConfig RankingModelConfigOf(const TrainConfig& config);

}  // namespace tessera
#endif  // TESSERA_TRAIN_MODEL_CONFIG_H_
