#ifndef TESSERA_SERVE_EXPORT_TABLE_EXPORT_H_
#define TESSERA_SERVE_EXPORT_TABLE_EXPORT_H_
// The part of a checkpoint's table that a model directory stores: which rows, how ids find them,
// and the stored rows themselves, some at a time.
#include <string>
#include <vector>

#include "embedding/lookup/index_remap.h"
#include "quant/quantize_table.h"
#include "runtime/context.h"
#include "serve/model_spec.h"
#include "train/checkpoint/checkpoint.h"
#include "train/config/train_config.h"

namespace tessera::serve {

struct TableExport {
  TableSpec spec;
  RowSource rows;                    // spec.rows of them; the checkpoint must outlive it
  int64_t checkpoint_bytes = 0;      // of all rows there
  std::vector<int64_t> kept = {};    // of a pruned table: the ids of its rows, ascending
  RowSource before = {};             // of a pruned table: all rows that it had
  bool all_rows_named = false;       // RowsKept
  std::vector<RemapEntry> ids = {};  // of a table of raw ids: all that have a row, ascending

  // Drops all rows but those of these ids. REQUIRES: ascending; no raw ids.
  void Keep(std::vector<int64_t> of_ids, RemapKind remap);
};

// Exports all tables of a config, whole, with these codecs and default rows: `tables` are the
// config's in order, and get rules for raw ids where the config has managed collision. Throws Error
// for a table that is not there or has another shape, and for raw ids without the state of their
// module.
std::vector<TableExport> ExportTables(Context& ctx, const Checkpoint& checkpoint,
                                      const TrainConfig& config,
                                      const std::vector<TableSpec>& tables);

// Throws Error as CheckNoNan does.
void CheckNoNanIn(Context& ctx, const std::vector<TableExport>& tables);

// Gives the stored rows to `sink`, the default row behind them: the mean of the table's rows whose
// numbers are all finite, pruned ones too, since their ids read it. Throws Error, naming the table,
// where it needs a mean and no row is finite. The error's worst row is the one of the table before
// pruning.
QuantizationError StreamRows(Context& ctx, const TableExport& table, const QuantizeOptions& options,
                             const StreamedTensor::Sink& sink);

// The rows of all tables of a checkpoint of this config, which must outlive them. Throws Error as
// ExportTables does.
std::vector<RowSource> RowsOf(const Checkpoint& checkpoint, const TrainConfig& config);

}  // namespace tessera::serve
#endif  // TESSERA_SERVE_EXPORT_TABLE_EXPORT_H_
