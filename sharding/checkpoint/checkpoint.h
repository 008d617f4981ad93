#ifndef TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_H_
#define TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_H_
// Tables and the states of their rules, saved by many ranks, loaded by any number. A folder:
//
//   index.json                       what is where (checkpoint_index.h); renaming it into place is
//                                    what makes a save the one that counts
//   save-<n>-rank-<r>.safetensors    the shards that rank r had at save n
//
// A save that is interrupted anywhere leaves the one before as it was. Parts of tables are given
// and taken as plain tensors: this knows no collection.
//
// Loading takes any rectangle of a table, whatever the plan it was saved under, and reads the rows
// it needs; every byte that is read is checked. Where column blocks differ, states of one number a
// row follow checkpoint_rows.h, and StatisticsChanged says so.
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "embedding/storage/started_rows.h"
#include "embedding/table/optimizer_state.h"
#include "runtime/files/checkpoint_checksums.h"
#include "runtime/files/safetensors.h"
#include "runtime/tensor.h"
#include "sharding/checkpoint/checkpoint_index.h"
#include "sharding/checkpoint/checkpoint_rows.h"

namespace tessera {

// A part of a table and what its rule remembers of it: weights [rows, columns], states of that
// shape or [rows]. All contiguous, or all stored elsewhere.
struct ShardTensors {
  std::string table;
  Shard shard;  // its rank is not looked at when it is loaded
  Tensor weights;
  std::vector<OptimizerState> states;
  std::shared_ptr<const RowsElsewhere> stored_weights = nullptr;  // as NamedTensor::stored
  // With stored weights: the shard's rows that are saved; the others are made when they are read.
  std::optional<StartedRows> started = {};

  NamedTensor Weights() const { return {kWeightName, weights, stored_weights}; }
};

// A tensor that is read on demand: `read` copies its bytes [begin, begin + count) to `out`, or
// throws Error if they fail their check.
struct StoredTensor {
  DType dtype = DType::kF32;
  Shape shape;
  std::function<void(int64_t begin, int64_t count, void* out)> read;
};

// A checkpoint that was found complete: every file is there and has its length. One thread at a
// time.
class ShardedCheckpoint {
 public:
  // Throws Error, which names folder or file, for one that is missing, and for a bad index.
  explicit ShardedCheckpoint(const std::string& folder);
  // Shows tensors that lie elsewhere as a sharded checkpoint: `tensors` are those that the index
  // names, shards by StoredName. Files and checksums of the index are not read. Errors call it
  // `path`.
  ShardedCheckpoint(const std::string& path, CheckpointIndex index,
                    std::map<std::string, StoredTensor> tensors);

  // The folder, or the name that stands for it in errors.
  const std::string& folder() const { return folder_; }
  const CheckpointIndex& index() const { return index_; }
  const CheckpointInfo& info() const { return index_.info; }
  // Throws Error for a table that is not there.
  const CheckpointTable& table(const std::string& name) const;

  // Throws Error unless `into` is inside its table, and has the types and states that were saved,
  // or no states at all.
  void Check(const ShardTensors& into) const;
  // Reads a part's weights and states into the tensors of `into`, of any device. Throws Error as
  // Check does, and for bytes that are not what was written; then what was there is lost.
  void Read(Context& ctx, const ShardTensors& into);
  // Reads what Read would, and checks it.
  void Verify(const ShardTensors& into);

  // A tensor that no plan cuts: one of index().whole. On ctx's device.
  Tensor ReadWhole(Context& ctx, const std::string& name);
  // One tensor of a part, a state or kWeightName. On ctx's device. Throws Error as Check does for a
  // part that is not inside its table.
  Tensor ReadPart(Context& ctx, const std::string& table, const Shard& part,
                  const std::string& tensor);

  // Returns which rows of a part the files hold, if the shards that it meets were saved with
  // `started`.
  std::optional<StartedRows> Started(const std::string& table, const Shard& part) const;

  // These give streams, for writing tensors elsewhere; this must outlive them. `tensor` is a state
  // or kWeightName; with `started`, only the part's rows in its runs.
  StreamedTensor Stream(const std::string& table, const Shard& part, const std::string& tensor,
                        const std::optional<StartedRows>& started = {});
  StreamedTensor StreamWhole(const std::string& name);

  // These read by rows, and by bytes, in any order.
  RowReader Rows(const std::string& table, const Shard& part, const std::string& tensor);
  StoredTensor Whole(const std::string& name);

 private:
  std::shared_ptr<const SafetensorsFile> File(int index);
  std::shared_ptr<const SafetensorsFile> OpenFile(const std::string& name) const;
  StoredTensor Stored(int file, const std::string& name, const std::string& checksums);
  StoredPart PartOf(const std::string& table, const StoredShard& stored, const std::string& tensor);
  std::vector<RunOfRows> RunsToRead(const ShardTensors& into) const;
  void CheckInside(const std::string& table, const Shard& part) const;
  bool TryOpen(const std::string& path);
  void CheckFiles() const;

  std::string folder_;
  CheckpointIndex index_;
  std::map<std::string, StoredTensor> elsewhere_;              // in place of files
  std::vector<std::shared_ptr<const SafetensorsFile>> files_;  // opened when they are asked for
  int opened_ = 0;
};

// Reads all parts; if one cannot be read, throws Error before any has changed (so all are read
// twice).
void LoadShards(Context& ctx, ShardedCheckpoint& checkpoint, std::span<const ShardTensors> into);

// Names of states, behind those of their tables.
using StatesOfTables = std::set<std::pair<std::string, std::string>>;

// Returns one sentence for each per-row state whose numbers may change because `plan` has other
// column blocks: they become means of several blocks, or copies. `counts` are left out: counts are
// alike in all blocks.
std::vector<std::string> StatisticsChanged(const CheckpointIndex& index, const ShardingPlan& plan,
                                           const StatesOfTables& counts = {});

}  // namespace tessera
#endif  // TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_H_
