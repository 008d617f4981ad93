#ifndef TESSERA_TRAIN_RUN_TOWER_ROWS_H_
#define TESSERA_TRAIN_RUN_TOWER_ROWS_H_
// Notices rows from which one of two towers learns nothing, as all bags of its features are empty.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "data/data_source.h"
#include "models/ranking_net_config.h"

namespace tessera {

inline constexpr int64_t kRowsBeforeWarning = 8192;

// Hands on the batches of a source, and calls `warn` once, with a sentence that names tower and
// features, where none of the first kRowsBeforeWarning rows, or of all if there are fewer, has an
// id of a tower. Hands back the source itself for a model that has no two towers.
std::unique_ptr<DataSource> WatchTowers(std::unique_ptr<DataSource> source,
                                        const RankingNetConfig& model,
                                        std::function<void(const std::string&)> warn);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_TOWER_ROWS_H_
