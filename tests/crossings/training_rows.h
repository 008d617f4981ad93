#ifndef TESSERA_TESTS_CROSSINGS_TRAINING_ROWS_H_
#define TESSERA_TESTS_CROSSINGS_TRAINING_ROWS_H_
// Rows of a training in files, a quarter of which data.split keeps for evaluation: Criteo rows that
// are split at random, text of a schema by the ids of a feature, a row folder by time.
#include <string>

#include "data/split/row_split.h"
#include "train/config/train_config.h"
#include "train/data_sets.h"

namespace tessera::testing {

// Writes rows of the configuration's planted data to `folder`, and makes config.data that of the
// files, with the split.
DataSelection WriteSplitRows(SplitBy by, const std::string& folder, TrainConfig& config);

// Writes the same rows to two text files, told apart row by row: config.data has no split.
DataSelection WriteRowsApart(SplitBy by, const std::string& folder, TrainConfig& config);

}  // namespace tessera::testing
#endif  // TESSERA_TESTS_CROSSINGS_TRAINING_ROWS_H_
