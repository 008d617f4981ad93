#include "train/model_config.h"

namespace tessera {

RankingModelConfig RankingModelConfigOf(const TrainConfig& config) {
  return {.tables = config.tables,
          .net = config.model,
          // Ids were made to fit the tables. A run that goes on rounds as it began.
          .embeddings = {.bounds_check = BoundsCheckMode::kFatal, .rounding_seed = config.seed}};
}

}  // namespace tessera
