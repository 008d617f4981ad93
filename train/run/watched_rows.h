#ifndef TESSERA_TRAIN_RUN_WATCHED_ROWS_H_
#define TESSERA_TRAIN_RUN_WATCHED_ROWS_H_
// Notices rows from which a part of a model learns nothing: a tower whose bags are all empty, a
// task for which no row counts.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/data_source.h"
#include "models/ranking_net_config.h"
#include "train/task_rows.h"

namespace tessera {

inline constexpr int64_t kRowsBeforeWarning = 8192;

// Hands on the batches of a source, and calls `warn` once for each tower or task, with a sentence
// that names it, where none of the first kRowsBeforeWarning rows, or of all if there are fewer, has
// something for it to learn from.
std::unique_ptr<DataSource> WatchRows(std::unique_ptr<DataSource> source,
                                      const RankingNetConfig& model,
                                      const std::vector<TrainTask>& tasks,
                                      std::function<void(const std::string&)> warn);

}  // namespace tessera
#endif  // TESSERA_TRAIN_RUN_WATCHED_ROWS_H_
