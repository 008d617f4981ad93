#ifndef TESSERA_EMBEDDING_DELTAS_MODEL_DELTA_TRACKER_H_
#define TESSERA_EMBEDDING_DELTAS_MODEL_DELTA_TRACKER_H_
// Which rows of a model's tables changed since a consumer last asked (TorchRec's class of this
// name), and what they hold now.
//
// A row is touched when the batch of an update names it (whether or not it changes), when it is
// reset or evicted, and when a growing table adds it. A rule that changes whole tables
// (embedding/update/table_sweep_ops.h) touches all rows in the steps in which it does so, and so do
// AverageReplicas and calls that load or reshard tables and their optimizers; a table of the rule
// Dense, which others update, counts as touched always. Frozen tables and lookups touch nothing.
// After writing through TableBatchedEmbedding::weight or optimizer_states, as LoadWeights does, or
// updating a table of the rule None, call Touch or TouchAll.
//
// Memory: 4 bytes a row, shared by all consumers and trackers of a table, however long a consumer
// waits before it asks. TorchRec's MOMENTUM_DIFF, which keeps a copy of the states of each touched
// row, is left out for that reason.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "embedding/table/optimizer_state.h"
#include "embedding/table/touched_rows.h"
#include "embedding/table_batched_embedding.h"
#include "runtime/tensor.h"

namespace tessera {

// Content of GetUnique's result: row numbers alone, or also the rows (and states) as they are when
// it is called.
enum class TrackingMode { kIdOnly, kEmbedding, kEmbeddingAndStates };

struct ModelDeltaTrackerOptions {
  std::vector<std::string> consumers = {"default"};
  TrackingMode mode = TrackingMode::kIdOnly;
  // Whether GetUnique clears what it returned. If not, the consumer calls Clear once it has used
  // it, and until then a call returns it again.
  bool delete_on_read = true;
};

// Touched rows of one table.
struct UniqueRows {
  std::string table;
  int64_t num_rows = 0;                     // of the table, now
  int64_t first_row = 0, first_column = 0;  // of a part of a larger table
  Tensor ids;                               // [k] i64, rising; of a part: numbers within it
  Tensor embeddings;                        // [k, D] of the table's data_type
  std::vector<OptimizerState> states;       // [k, D] or [k], of their types
};

class ModelDeltaTracker {
 public:
  // Tracks `tables` from now on. Throws Error if `consumers` is empty or names one twice.
  ModelDeltaTracker(Context& ctx, TableBatchedEmbedding tables,
                    ModelDeltaTrackerOptions options = {});

  // Returns, for each table in order, the rows touched since this consumer last cleared, and what
  // the mode adds. Waits for the device. REQUIRES: no update is pending.
  std::vector<UniqueRows> GetUnique(Context& ctx, const std::string& consumer);
  // For the first consumer.
  std::vector<UniqueRows> GetUnique(Context& ctx);
  // Returns the ids alone, whatever the mode, and clears nothing.
  std::vector<UniqueRows> GetUniqueIds(Context& ctx, const std::string& consumer) const;
  // Marks what the last GetUnique returned as seen by the consumer: rows that were touched after it
  // come with the next. Without a GetUnique since the last Clear, marks all rows touched so far.
  void Clear(const std::string& consumer);
  // Marks all rows touched so far as seen by all consumers.
  void ClearAll();

  // Marks rows that changed by other ways than an update. Ids outside the table are left out.
  void Touch(Context& ctx, int table, const Tensor& ids);
  void TouchAll(int table);
  void TouchAll();  // of all tables

  const ModelDeltaTrackerOptions& options() const { return options_; }
  // Bytes of memory that the tracking takes.
  int64_t bytes() const;

 private:
  using Seen = std::vector<int32_t>;  // one a table: the last time that a consumer has read
  const Seen& SeenBy(const std::string& consumer) const;
  // Ends the time under way, and says which one it was.
  Seen EndTime();

  TableBatchedEmbedding tables_;
  ModelDeltaTrackerOptions options_;
  std::vector<std::shared_ptr<TouchedRows>> touched_;  // one a table
  std::map<std::string, Seen> seen_;                   // by consumer
  std::map<std::string, Seen> returned_;               // likewise, by a GetUnique since Clear
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_DELTAS_MODEL_DELTA_TRACKER_H_
