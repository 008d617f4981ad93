#ifndef TESSERA_SERVE_EXPORT_MODEL_WRITER_H_
#define TESSERA_SERVE_EXPORT_MODEL_WRITER_H_
// Writes a model directory (model_spec.h) from a checkpoint, a few megabytes at a time: no table is
// in memory; of one that is pruned or has raw ids a few numbers a row are.
//
// A directory that holds a model already gets the next version: weights under another name, then a
// new model.json, whose rename is the commit, then the old weights and their deltas go. Who has the
// old ones mapped keeps them.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "quant/quantize_table.h"
#include "runtime/context.h"
#include "serve/export/prune_table.h"
#include "serve/export/table_export.h"
#include "serve/model_spec.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"

namespace tessera::serve {

// The row that unknown ids read: none (they add 0), or the mean of the rows that the table keeps,
// of those whose numbers are all finite.
enum class DefaultRow { kNone, kMean };
std::string ToString(DefaultRow row);  // "none", "mean"
DefaultRow ParseDefaultRow(const std::string& name);

struct WriteModelOptions {
  RowCodec codec = {};                                // of all tables
  std::map<std::string, RowCodec> table_codecs = {};  // but of these, by name
  DefaultRow default_row = DefaultRow::kNone;
  PruneOptions prune = {};         // all tables without raw ids; those stay whole
  DType dense_type = DType::kF32;  // or f16: as which the dense part is stored
  QuantizeOptions quantize = {};   // its search: of tables whose codec takes it
  // Whether the model may read other inputs than the one in the directory, whose clients' requests
  // it then refuses.
  bool new_inputs = false;
  // The directory's version; 0: one more than what it holds.
  int64_t version = 0;
  // Another directory whose model's inputs count as this one's, "" for none.
  std::string follows = {};
};

// Facts about a table that was written.
struct WrittenTable {
  TableSpec spec;
  int64_t checkpoint_bytes = 0;  // of its rows there
  bool all_rows_named = false;   // by pruning: its one row stays as no table is empty
  QuantizationError error;
};

struct WrittenModel {
  ModelSpec spec;
  std::vector<WrittenTable> tables;
};

// Throws Error for a codec of a table that is not there, a table or parameter that the checkpoint
// lacks or has in another shape, other inputs than the directory's model has unless
// options.new_inputs, NaN in a table (naming tables and rows), a mean of no finite row, dense
// numbers beyond f16 where that is asked for, what KeptRows does not take, and when it can't write;
// what was in the directory is then still there. The config, that of the checkpoint unless given,
// says what the model is.
WrittenModel WriteModel(Context& ctx, const Checkpoint& checkpoint,
                        const std::optional<TrainConfig>& config, const std::string& directory,
                        const WriteModelOptions& options = {});

// Step of the checkpoint's training, if the checkpoint says so.
std::optional<TrainedTo> TrainedOf(const Checkpoint& checkpoint);
// Returns the spec that these options make of a config: whole tables; ExportTables adds the rest.
// It has `data` where their rows have the model's features and numbers.
ModelSpec MakeSpec(const TrainConfig& config, const WriteModelOptions& options);

// The given config, or the checkpoint's own. Throws Error where there is neither, and where the
// given one would look for the checkpoint's raw ids in other rows. Where data.split asks for the
// last rows by time, the given one takes the time that the training found.
TrainConfig ReadConfig(const Checkpoint& checkpoint, const std::optional<TrainConfig>& config);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_MODEL_WRITER_H_
