#ifndef TESSERA_TRAIN_CONFIG_SCHEMA_CHECKS_H_
#define TESSERA_TRAIN_CONFIG_SCHEMA_CHECKS_H_
// Checks, before anything starts, that tables and model have what a schema needs.
#include "train/config/train_config.h"

namespace tessera::internal {

// Throws Error for a feature that no table reads, a vocabulary or boundaries that a table has too
// few rows for, weights that the model does not take, and labels that it does not train on.
void CheckSchema(const TrainConfig& config);

}  // namespace tessera::internal
#endif  // TESSERA_TRAIN_CONFIG_SCHEMA_CHECKS_H_
