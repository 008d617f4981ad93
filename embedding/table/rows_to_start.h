#ifndef TESSERA_EMBEDDING_TABLE_ROWS_TO_START_H_
#define TESSERA_EMBEDDING_TABLE_ROWS_TO_START_H_
// Rows that change hands, or of a growing table also come into use, where only a GPU knows them.
#include "runtime/tensor.h"

namespace tessera {

struct RowsToStart {
  Tensor rows;            // [K] i64, of which the first *count are row numbers, less first_row
  const int64_t* count;   // on the device, in memory of `rows`
  int64_t first_row = 0;  // of the row with the number 0
  // These are for a growing table alone.
  Tensor in_use = {};           // [1] i64: rows in use with these, less first_row
  int64_t least = 0, most = 0;  // that in_use can be by what the host knows, without first_row
  bool follows = false;         // on rows that were started last, and no others
};

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_TABLE_ROWS_TO_START_H_
