#ifndef TESSERA_BENCH_DATA_TEXT_CASES_H_
#define TESSERA_BENCH_DATA_TEXT_CASES_H_
// The text files that the peers' script read_text.py writes and reads, and the schemas that we read
// them by: into the same columns.
#include <cstdint>
#include <string>
#include <vector>

#include "data/batch_builder.h"

namespace tessera::bench {

struct TextCase {
  std::string name;    // of the peers' case: "text_criteo_tsv"
  std::string file;    // its name in the folder
  std::string schema;  // "data" of a configuration
  std::vector<CategoricalFeature> features;
  // A line has ids_a_line ids, and one more for each `mark` before its last character ('\0': no
  // mark counts).
  int64_t ids_a_line = 0;
  char mark = '\0';
  bool heading = false;  // the first line is one
};

// Multi-hot rows as JSON lines and as csv, Criteo's tsv, MovieLens' ratings as tsv and as JSON
// lines, and bags of books.
const std::vector<TextCase>& TextCases();

// cat_0 to cat_25, with the rows of MLPerf's tables, but 100,000 at most.
std::vector<CategoricalFeature> MultiHotFeatures();
// Ids of each feature in a row of the multi-hot files.
const std::vector<int64_t>& MultiHotSizes();

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_DATA_TEXT_CASES_H_
