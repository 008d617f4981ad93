#ifndef TESSERA_EMBEDDING_TABLE_ROWS_H_
#define TESSERA_EMBEDDING_TABLE_ROWS_H_
// Rows of a TableBatchedEmbedding's tables, some at a time, wherever the table lies (in memory,
// behind a cache, on disk): read them, reset them, grow a table, follow which of them change.
// embedding/lookup/row_access.h reads and writes single rows of a tensor.
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "embedding/storage/started_rows.h"
#include "runtime/named_parameter.h"
#include "runtime/tensor.h"

namespace tessera {

class TouchedRows;
struct RowsToStart;

namespace internal {
struct TablesState;
}

// A view that TableBatchedEmbedding::rows() returns; it shares the tables.
class TableRows {
 public:
  explicit TableRows(std::shared_ptr<internal::TablesState> state) : state_(std::move(state)) {}

  // A table's parts: its weights (part 0, called "weight") and states (parts 1, …), as tensors that
  // share the table's storage or, on disk, as a shape with `stored`. Of a table with a cache they
  // hold the truth after TableCaches::Flush. Throws Error for a part that is not there.
  int num_parts(int index) const;
  NamedTensor part(int index, int part) const;
  // Which rows have started, of a table that takes memory for rows as they come into use.
  std::optional<StartedRows> started(int index) const;
  // The weights of all tables, as "<prefix>.<table>.weight", or "<table>.weight" without a prefix:
  // with "embedding_bags" or "embeddings", the names of TorchRec's collections.
  std::vector<NamedTensor> weights(const std::string& prefix = "") const;
  // Rows `ids` ([n], i32 or i64) of a part, [n, …] of its type, on ctx's device. Flushes a cache
  // that holds updates. REQUIRES: they name rows.
  Tensor Take(Context& ctx, int index, int part, const Tensor& ids) const;

  // The rows `ids` ([n], i32 or i64) become 0, or what rows of the table start with, and their
  // states 0. Start values depend on the seed of ctx.random() (of a growing table, on its own), the
  // table's name, the row and iter(index) (embedding/table/new_row_init.h); an init_fn is given n
  // rows and ctx.random(), in a growing table a row at a time. Throws Error for an id that names no
  // row (waits for the device), and amid the forwards of one step.
  enum class ResetTo { kZero, kInitial };
  void Reset(Context& ctx, int index, const Tensor& ids, ResetTo to = ResetTo::kZero) const;

  // Number of a growing table's rows that lookups and updates find, weight() shows and checkpoints
  // keep; all rows of any other table. SetInUse fills new rows with start values, which also depend
  // on iter(index) (embedding/table/new_row_init.h), and their states with 0. Call it before the
  // forward that names them, and before loading a state dict with as many rows. Throws Error for a
  // table that does not grow, more rows than num_embeddings, and fewer than there are if they are
  // tracked (Track).
  int64_t in_use(int index) const;
  void SetInUse(Context& ctx, int index, int64_t rows) const;
  // Does what Reset to kInitial does, and for a growing table SetInUse, for rows that only the
  // device knows (rows_to_start.h). It does not wait; a later in_use does. Returns false, and
  // changes nothing, with an init_fn or a cache, while rows are tracked or a CudaGraph is recorded,
  // for rules that act before lookups, and for rows of a growing table where this one does not
  // grow, or the reverse.
  bool StartRows(Context& ctx, int index, const RowsToStart& rows) const;

  // The table's rows that change from now on, which embedding/deltas/model_delta_tracker.h reads;
  // the same object for all who ask.
  std::shared_ptr<TouchedRows> Track(Context& ctx, int index) const;
  // Counts all rows of all tables as changed, for those who track them: after the rows were loaded.
  void TouchAll() const;

 private:
  std::shared_ptr<internal::TablesState> state_;
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_ROWS_H_
