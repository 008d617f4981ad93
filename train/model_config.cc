#include "train/model_config.h"

#include "embedding/config/placement.h"

namespace tessera {
namespace {

// Whether a table's rows may come into use one after another, as those of growing modules do.
bool CanGrow(const EmbeddingBagConfig& table) {
  return !std::holds_alternative<Dense>(table.optimizer) && !IsCached(table.location);
}

void CheckDenseRows(const EmbeddingBagConfig& table) {
  if (!std::holds_alternative<Dense>(table.optimizer) || table.data_type == DType::kF32) return;
  throw Error(Format(
      "table {}: its rows are {}, but its rule dense leaves them to the optimizer of the dense "
      "part, which trains f32",
      table.name, ToString(table.data_type)));
}

}  // namespace

RankingModelConfig RankingModelConfigOf(const TrainConfig& config) {
  for (const EmbeddingBagConfig& table : config.tables) CheckDenseRows(table);
  RankingModelConfig model = {
      .tables = config.tables,
      .net = config.model,
      // Ids were made to fit the tables. A resumed run rounds as it began.
      .embeddings = {.bounds_check = BoundsCheckMode::kFatal, .rounding_seed = config.seed},
      .managed_collision = config.managed_collision};
  for (EmbeddingBagConfig& table : model.tables) {
    const auto managed = config.managed_collision.find(table.name);
    table.growing = managed != config.managed_collision.end() &&
                    std::holds_alternative<GrowingIndexOptions>(managed->second.module) &&
                    CanGrow(table);
  }
  return model;
}

}  // namespace tessera
