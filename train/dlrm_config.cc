#include "train/dlrm_config.h"

namespace tessera {

DlrmConfig DlrmConfigOf(const TrainConfig& config) {
  return {.tables = config.tables,
          .dense_in = config.model.dense_in,
          .dense_arch = config.model.dense_arch,
          .over_arch = config.model.over_arch,
          // Ids were made to fit the tables. A run that goes on rounds as it began.
          .embeddings = {.bounds_check = BoundsCheckMode::kFatal, .rounding_seed = config.seed}};
}

}  // namespace tessera
