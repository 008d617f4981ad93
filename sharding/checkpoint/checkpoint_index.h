#ifndef TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_INDEX_H_
#define TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_INDEX_H_
// The index.json of a sharded checkpoint: which file holds which part of which table, and the
// checksums of its bytes. Plain data.
//
//   {"tessera_sharded_checkpoint": 1, "save": 7, "checksum_bytes": 1048576,
//    "plan": …                                              as in plan_json.h
//    "tables": {"t0": {"rows", "dim", "parameter", "rule", "iter", "max_counter"}, …},
//    "metadata": {string: string},
//    "files": [{"name": "save-7-rank-0.safetensors", "bytes"}, …],
//    "stored": {"t0": {"dtype", "states": [{"name", "dtype", "per_row"}],
//                      "shards": [{"file", "offset", "size", "crc32": {tensor: digits}}]}, …},
//    "whole": {name: {"file", "crc32"}, …},
//    "crc32": of all of it before this (json_seal.h)}
//
// A shard of a table whose rows take memory as they come into use also has "rows": [[begin, end], …],
// those that its tensors hold, and "start": {"low", "high", "seed", "sequence"}: its other rows have
// the values of embedding/storage/row_start.h, and states of 0.
//
// Names of files have no folder in them: what is read lies beside the index.
// crc32: of each piece of checksum_bytes of a tensor, 8 hexadecimal digits, one after the other.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "embedding/storage/started_rows.h"
#include "runtime/numbers/dtype.h"
#include "sharding/plan/plan.h"

namespace tessera {

// A table as a whole.
struct CheckpointTable {
  TableShape shape;
  std::string parameter;  // its name in the state dict of an unsharded model
  std::string rule;       // RuleName of its optimizer
  int64_t iter = 0;       // its training forwards
  float max_counter = 1;  // of its rule: TableBatchedEmbedding::max_counter
};

struct CheckpointInfo {
  ShardingPlan plan;
  std::vector<CheckpointTable> tables;
  std::map<std::string, std::string> metadata;  // as in the unsharded format, and the caller's own
};

std::vector<TableShape> ShapesOf(const CheckpointInfo& info);

// One thing that a table's rule remembers: [rows, columns] of a shard, or [rows].
struct StoredState {
  std::string name;
  DType dtype = DType::kF32;
  bool per_row = false;

  friend bool operator==(const StoredState&, const StoredState&) = default;
};

struct StoredShard {
  int file = 0;
  Shard shard;  // its rank is that of the plan; of a data-parallel table any
  std::map<std::string, std::string> checksums;  // by state, and kWeightName
  std::optional<StartedRows> started = {};       // absent: its tensors hold all rows

  int64_t rows_in_file() const { return started ? started->num_rows() : shard.rows; }
};
inline constexpr char kWeightName[] = "weight";

struct StoredTable {
  DType dtype = DType::kF32;
  std::vector<StoredState> states;
  std::vector<StoredShard> shards;  // those that have rows, in the order of the plan; of a
                                    // data-parallel table one
};

// A tensor that no plan cuts.
struct StoredWhole {
  int file = 0;
  std::string checksums;
};

struct StoredFile {
  std::string name;
  int64_t bytes = 0;
};

struct CheckpointIndex {
  int64_t save = 0;
  CheckpointInfo info;
  std::vector<StoredFile> files;
  std::map<std::string, StoredTable> tables;
  std::map<std::string, StoredWhole> whole;
};

inline constexpr char kIndexName[] = "index.json";

// Formats what one rank wrote, as text that rank 0 gathers: an index without save and info, of one
// file.
std::string PartToText(const CheckpointIndex& part);

// The whole of it: file r is of rank r's part. Throws Error for a part that is none, for a shard of
// the plan that no rank wrote or that two did, and for shards whose types or states differ.
CheckpointIndex MergeParts(int64_t save, CheckpointInfo info,
                           const std::vector<std::string>& parts);

std::string IndexToJson(const CheckpointIndex& index);
// Throws Error, which begins with `where`, for a document that is not an index of this version, and
// for one that lacks a shard.
CheckpointIndex IndexFromJson(const std::string& text, const std::string& where);

// "t0[0:5,16:32]".
std::string ShardName(const std::string& table, const Shard& shard);
// "t0[0:5,16:32].momentum1": of a shard's tensor in its file.
std::string StoredName(const std::string& table, const Shard& shard, const std::string& tensor);

}  // namespace tessera
#endif  // TESSERA_SHARDING_CHECKPOINT_CHECKPOINT_INDEX_H_
