#ifndef TESSERA_TRAIN_MODEL_CONFIG_H_
#define TESSERA_TRAIN_MODEL_CONFIG_H_
// The model of a training's configuration.
#include "models/ranking_model.h"
#include "train/config/train_config.h"

namespace tessera {

// on_ranks: tables whose raw ids are in parts grow, too; in one process they have all their rows
// from the start.
RankingModelConfig RankingModelConfigOf(const TrainConfig& config, bool on_ranks = false);

}  // namespace tessera
#endif  // TESSERA_TRAIN_MODEL_CONFIG_H_
