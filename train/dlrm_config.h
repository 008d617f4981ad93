#ifndef TESSERA_TRAIN_DLRM_CONFIG_H_
#define TESSERA_TRAIN_DLRM_CONFIG_H_
// The model of a training's configuration.
#include "train/config/train_config.h"
#include "train/nn/dlrm.h"

namespace tessera {

DlrmConfig DlrmConfigOf(const TrainConfig& config);

}  // namespace tessera
#endif  // TESSERA_TRAIN_DLRM_CONFIG_H_
