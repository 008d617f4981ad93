#ifndef TESSERA_TRAIN_CONFIG_DATA_CONFIG_H_
#define TESSERA_TRAIN_CONFIG_DATA_CONFIG_H_
// The rows that a run reads, and their order: the "data" of a configuration.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/row_order.h"
#include "data/schema/data_schema.h"
#include "data/split/row_split.h"
#include "data/synthetic/click_model.h"

namespace tessera {

// The last four are a user's own files, which a schema explains.
enum class DataFormat { kCriteo, kPlanted, kRandom, kMovieLens, kJsonl, kCsv, kTsv, kNpz };
std::string ToString(DataFormat format);  // "criteo", "planted", …

// Fields as in RandomRowsOptions (data/synthetic/random_rows.h).
struct RandomDataConfig {
  uint64_t seed = 1;
  std::vector<int64_t> ids_per_feature = {2};
  int64_t distinct_rows = 0;
};

struct DataConfig {
  DataFormat format = DataFormat::kCriteo;
  MissingIds missing = MissingIds::kRow0;  // of text and planted data
  // Says what had been done to the values of the rows that a model was trained on
  // (data/files/row_preparation.h); rows for it must be alike. "": unknown.
  std::string prepared = {};
  std::optional<ShuffleOptions> shuffle = {};  // of what is trained on; absent: rows as they lie
  // Which rows of files are for evaluation; absent: those that are told apart by their place, or
  // that lie in other files.
  std::optional<SplitOptions> split = {};
  // Planted and random data alone: rows [0, rows) are for training, the next eval_rows for
  // evaluation.
  int64_t rows = 0, eval_rows = 0;
  ClickModelOptions planted = {};
  RandomDataConfig random = {};
  float like_from = 4;                            // of MovieLens: ratings from there on are clicks
  std::shared_ptr<const DataSchema> schema = {};  // of a user's own files; null for other formats
};

// The names of the labels that batches have: "label" where the data have one without a name.
std::vector<std::string> LabelNames(const DataConfig& data);
// The name of the task of a model without tasks: "click", or that of the first label.
std::string DefaultTaskName(const DataConfig& data);

// Takes what a training has found of its rows, where `data` do not say it: the time of a split by
// the last times, and how values were prepared.
void TakeFound(const DataConfig& saved, DataConfig& data);
// Whether a saved configuration, as text, can have such a thing for `data`. A program's own need
// not be one that can be read.
bool MayHaveFound(const std::string& saved, const DataConfig& data);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CONFIG_DATA_CONFIG_H_
