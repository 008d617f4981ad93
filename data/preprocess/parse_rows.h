#ifndef TESSERA_DATA_PREPROCESS_PARSE_ROWS_H_
#define TESSERA_DATA_PREPROCESS_PARSE_ROWS_H_
// Parses text of any schema once, into a row folder of version 2 (data/files/bag_folder.h). Rows
// stay in their order, or are shuffled (row_shuffler.h): they then lie in files that nobody sees
// between the two. Memory is bounded by a shard and the pieces of text that are being parsed.
// Equal options and inputs give equal bytes, with any number of threads.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "data/batch_builder.h"
#include "data/data_source.h"
#include "data/preprocess/preprocess.h"
#include "data/rows/unknown_items.h"
#include "data/schema/data_schema.h"

namespace tessera {

struct ParseRowsOptions {
  std::vector<std::string> inputs;           // patterns, too
  std::string output;                        // a folder
  DataSchema schema;                         // jsonl, csv or tsv
  std::vector<CategoricalFeature> features;  // that tables read
  bool skip_bad_lines = false;
  bool shuffle = false;    // all rows, of all inputs
  bool keep_last = false;  // but those of the last input
  uint64_t seed = 0;       // of the shuffle
  int threads = 0;         // that parse; 0: as many as there are cores
  int64_t shard_rows = 1 << 20;
  int64_t memory_bytes = int64_t{1} << 30;  // a shard, and what is shuffled at once: a quarter
};

struct ParseRowsReport {
  PreprocessReport rows;
  BadLineCounts skipped;  // lines that were left out, by reason
  std::shared_ptr<UnknownItems> unknown_items = std::make_shared<UnknownItems>();
};

// Throws Error "FILE:LINE: …" for bad lines, and for inputs that are no text; the output's index is
// then not there.
ParseRowsReport ParseRows(
    const ParseRowsOptions& options,
    const std::function<void(const PreprocessProgress&)>& on_progress = [](const auto&) {});

}  // namespace tessera
#endif  // TESSERA_DATA_PREPROCESS_PARSE_ROWS_H_
