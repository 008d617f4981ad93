#ifndef TESSERA_EMBEDDING_STORAGE_STARTED_ROWS_H_
#define TESSERA_EMBEDDING_STORAGE_STARTED_ROWS_H_
// Which rows of a table have started, where a row takes memory when it does.
#include <cstdint>
#include <vector>

#include "embedding/storage/row_start.h"

namespace tessera {

// Rows [begin, end).
struct RunOfRows {
  int64_t begin = 0, end = 0;

  int64_t size() const { return end - begin; }
  friend bool operator==(const RunOfRows&, const RunOfRows&) = default;
};

int64_t CountRows(const std::vector<RunOfRows>& runs);
// The rows of both, as runs that ascend and lie apart.
std::vector<RunOfRows> JoinedRuns(std::vector<RunOfRows> a, const std::vector<RunOfRows>& b);

// A part of a table whose rows outside the runs, which ascend and lie apart, all have the values
// that `start` gives them, and states of 0.
struct StartedRows {
  RowStart start;
  std::vector<RunOfRows> runs;

  int64_t num_rows() const { return CountRows(runs); }
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_STARTED_ROWS_H_
