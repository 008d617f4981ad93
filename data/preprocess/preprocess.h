#ifndef TESSERA_DATA_PREPROCESS_PREPROCESS_H_
#define TESSERA_DATA_PREPROCESS_PREPROCESS_H_
// Turns Criteo text or npy days into files that training maps: the work of TorchRec's
// npy_preproc_criteo, contiguous_preproc_criteo and shuffle_preproc_criteo in two passes.
//
//   1. all inputs are read, row by row, into columns on disk (ColumnSpool)
//   2. ids are numbered, a column at a time, where that is asked for; then rows are put together,
//      ids taken mod hash sizes, numbers transformed, shuffled where that is asked for, and written
//
// Memory is bounded by memory_bytes and a shard; the columns, in a folder inside the output that
// goes in the end, take up to twice what text takes. Equal options and inputs give equal bytes.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/preprocess/raw_input.h"
#include "data/schema/dense_transform.h"

namespace tessera {

enum class PreprocessOutput {
  kFolder,  // one row folder of all inputs, in their order
  kNpy,     // a folder with an npy day for each input
};

struct PreprocessOptions {
  std::vector<std::string> inputs;
  std::string output;  // a folder
  PreprocessOutput to = PreprocessOutput::kFolder;
  bool skip_bad_lines = false;
  MissingValues missing = MissingValues::kOwn;
  DenseTransform dense = {};  // of text; numbers of other inputs stay as they are
  bool contiguous = false;
  int64_t frequency_threshold = 3;       // of contiguous ids
  std::vector<int64_t> hash_sizes = {};  // one for all columns, or one each; none: ids as they are
  bool shuffle = false;                  // all rows, of all inputs
  bool keep_last = false;                // but those of the last input
  uint64_t seed = 0;                     // of the shuffle
  int64_t shard_rows = 1 << 20;          // of a row folder
  int64_t memory_bytes = int64_t{1} << 30;
};

struct PreprocessedInput {
  std::string path;
  int64_t first_row = 0, rows = 0;  // in the output
};

struct PreprocessedFeature {
  std::string name;
  int64_t table_rows = 0;          // of the smallest table that fits; 0 where ids are negative
  int64_t distinct = 0, kept = 0;  // ids; of contiguous ones alone
};

struct PreprocessReport {
  std::vector<PreprocessedInput> inputs;
  std::vector<PreprocessedFeature> features;
  int64_t rows = 0, skipped_rows = 0;
};

struct PreprocessProgress {
  const char* step = "";               // "reading", "numbering ids", "writing"
  std::optional<double> fraction = 0;  // of the step; absent where it reads a pipe
  int64_t rows = 0;                    // done in the step
};

// The share of all inputs that is read with a share of one of them, those before it included.
std::optional<double> ShareOfInputs(size_t which, size_t inputs, std::optional<double> share);

// Throws Error for a last input that is to stay as it is where no others are shuffled.
void CheckShuffle(bool shuffle, bool keep_last, size_t inputs);

// Throws Error for options that do not fit together, bad data, and output that cannot be written;
// the output's index, or npy files, are then not there.
PreprocessReport Preprocess(
    const PreprocessOptions& options,
    const std::function<void(const PreprocessProgress&)>& on_progress = [](const auto&) {});

}  // namespace tessera
#endif  // TESSERA_DATA_PREPROCESS_PREPROCESS_H_
