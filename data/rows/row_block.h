#ifndef TESSERA_DATA_ROWS_ROW_BLOCK_H_
#define TESSERA_DATA_ROWS_ROW_BLOCK_H_
// Rows that were read from text, a column at a time, before they are cut into batches.
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "data/data_source.h"
#include "runtime/context.h"

namespace tessera {

// The parts of every row.
struct RowColumns {
  std::vector<std::string> keys;  // features
  int64_t dense = 0, labels = 0;  // numbers of each
  bool weighted = false;          // some feature has weights; ids of the others weigh 1
  bool has_weight = false, has_time = false;
  DType id_type = DType::kI32;  // i32 where all tables allow it
};

// Bags of one feature: bag i has ids [ends[i - 1], ends[i]).
struct FeatureColumn {
  std::vector<int64_t> ids;
  std::vector<float> weights;  // as many, or none: all 1
  std::vector<int64_t> ends;

  int64_t begin(int64_t row) const { return row == 0 ? 0 : ends[static_cast<size_t>(row - 1)]; }
};

// The share of the data that some rows are, by the bytes of their text, each of which is taken to
// have as many.
struct RowShare {
  int64_t first_row = 0, rows = 0;
  std::optional<double> before = {}, end = {};  // of the data, before the first row and with all

  // The share of the data before a row of them, or after the last.
  std::optional<double> Before(int64_t row) const;
};

struct RowLines;

struct RowBlock {
  std::vector<FeatureColumn> features;
  std::vector<float> dense, labels;  // row-major
  std::vector<float> weight;
  std::vector<int64_t> time;
  std::vector<int64_t> numbers;                         // of each row, among all rows of the data
  std::vector<ItemCount> items;                         // of each feature, in these rows
  std::map<std::string, std::vector<int64_t>> skipped;  // numbers of bad rows, by their reason
  // The text of the rows, in place of their columns, where it is parsed later (text_row_reader.h).
  std::shared_ptr<const RowLines> lines;
  RowShare share;     // of the lines that became this block
  std::string error;  // of the line after the last row; "": none

  int64_t rows() const { return static_cast<int64_t>(numbers.size()); }
  // Removes all rows, and makes room for so many. It keeps its memory.
  void Clear(const RowColumns& layout, int64_t room);
  // Takes back what was added of a row that is not whole.
  void Truncate(const RowColumns& layout);
};

// Rows [begin, end) of a block.
struct RowRun {
  const RowBlock* block;
  int64_t begin, end;
};

// Rows [begin, end) of all that the runs have, in their order.
std::vector<RowRun> CutRuns(std::span<const RowRun> runs, int64_t begin, int64_t end);

// The rows of the runs, in their order, as one batch; where they came from is left to the caller.
// labels: undefined without any, [B] for one, else [B, labels].
Batch BatchOfRuns(Context& ctx, const RowColumns& layout, std::span<const RowRun> runs);

}  // namespace tessera
#endif  // TESSERA_DATA_ROWS_ROW_BLOCK_H_
