#ifndef TESSERA_TRAIN_CHECKPOINT_DELTA_FILE_H_
#define TESSERA_TRAIN_CHECKPOINT_DELTA_FILE_H_
// A delta: what a checkpoint has that the one before it had not, as a safetensors file.
//
//   delta_rows.<table parameter>     [k] i64, rising: the rows that changed
//   <table parameter>                [k, D]: what they are
//   optimizer.<table parameter>.…    [k, D] or [k]: their optimizer state
//   everything else                  whole, as in a checkpoint (checkpoint.h)
//   __metadata__                     as in a checkpoint, and
//                                    delta.number              as in the file's name
//                                    delta.previous            identity of the file before it
//                                    delta.num_rows.<table>    rows of the whole table
//
// A file's identity is a CRC-32 of its metadata, in which the CRC-32 of its tensors is. Rows that a
// table did not have before are all among the changed ones.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/tensor.h"
#include "train/checkpoint/checkpoint.h"

namespace tessera {

inline constexpr char kDeltaRowsPrefix[] = "delta_rows.";

// Changed rows of one table: "<parameter>" and "optimizer.<parameter>.…" are told apart by rows.
struct ChangedRows {
  std::string parameter;
  Tensor rows;  // [k] i64, rising; on ctx's device
};

std::string FileIdentity(const std::map<std::string, std::string>& metadata);

// Bytes of the tensors that WriteDelta would write.
int64_t DeltaBytes(const std::vector<NamedTensor>& state, const std::vector<ChangedRows>& changed);

// Writes beside `path`, syncs, renames. state: as for WriteCheckpoint, whole. Throws Error when it
// can't, and for changed rows of a parameter that `state` does not have.
void WriteDelta(Context& ctx, const std::string& path, const std::vector<NamedTensor>& state,
                const std::vector<ChangedRows>& changed, const TrainingProgress& progress,
                const std::string& config, int64_t number, const std::string& previous);

// A delta that was found whole.
struct DeltaFile {
  struct Table {
    std::vector<int64_t> rows;  // that changed
    int64_t num_rows = 0;       // of the table
  };
  std::string path;
  std::shared_ptr<const SafetensorsFile> file;
  std::map<std::string, Table> tables;  // by parameter
  std::string identity;

  // Returns the table of a tensor that the delta holds some rows of; nullptr for others.
  const Table* TableOf(const std::string& name) const;
};

// Throws Error naming the file for one that is missing, truncated, corrupt, or does not follow the
// file of identity `previous` as number `number`.
DeltaFile ReadDelta(const std::string& path, int64_t number, const std::string& previous);

// The metadata of the checkpoint that the delta leads to.
std::map<std::string, std::string> WithoutDelta(std::map<std::string, std::string> metadata);

}  // namespace tessera
#endif  // TESSERA_TRAIN_CHECKPOINT_DELTA_FILE_H_
