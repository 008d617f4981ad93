#ifndef TESSERA_CLI_SHOW_CHECKPOINT_SUMMARY_H_
#define TESSERA_CLI_SHOW_CHECKPOINT_SUMMARY_H_
// Summary of a checkpoint, as tessera inspect shows it: a file, a folder of incremental ones, or
// the folder that ranks saved.
#include <optional>
#include <string>
#include <vector>

#include "train/checkpoint/checkpoint.h"

namespace tessera::cli {

struct TableSummary {
  std::string name, dtype, optimizer = "?", sharding = {};  // sharding: of a folder
  int64_t rows = 0, dim = 0, bytes = 0, state_bytes = 0;
  std::optional<int64_t> raw_ids = {};  // that have a row of their own; absent without raw ids
  int64_t declared_rows = 0;            // of the configuration; 0 where there is none
};

// A tensor of a program's own model, with the names of what its optimizer remembers of it.
struct TensorSummary {
  std::string name, dtype, shape;
  int64_t bytes = 0;
  std::vector<std::string> states = {};
  int64_t state_bytes = 0;
};

struct CheckpointSummary {
  std::vector<TableSummary> tables = {};
  int64_t dense_parameters = 0, dense_bytes = 0, dense_state_bytes = 0;
  std::string dense_optimizer = "?";
  int ranks = 0;              // 0: a file
  std::string config = {};    // JSON, "" if it has none
  std::string prepared = {};  // the rows it was trained on (row_preparation.h), where it says so
  std::optional<TrainingProgress> progress = {};
  bool has_optimizer_state = false;
  std::optional<ChainPosition> chain = {};  // of a folder of incremental checkpoints
  std::vector<TensorSummary> tensors = {};  // of a file of SaveCheckpoint, in place of the tables
  bool of_program = false;                  // whether it is such a file
};

// The part of a parameter's name that is the table's, "" for other parameters.
std::string TableOf(const std::string& parameter);

// Keys of a checkpoint's metadata that say where a training stands, all of which are needed.
std::string ProgressKeys();

// Throws Error for what is neither, naming the file.
CheckpointSummary SummarizeCheckpoint(const std::string& path);

}  // namespace tessera::cli
#endif  // TESSERA_CLI_SHOW_CHECKPOINT_SUMMARY_H_
