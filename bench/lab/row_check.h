#ifndef TESSERA_BENCH_LAB_ROW_CHECK_H_
#define TESSERA_BENCH_LAB_ROW_CHECK_H_
// Rows of a table, or their states, beside those that were expected.
#include <cstdint>
#include <string>

#include "runtime/numbers/dtype.h"

namespace tessera::bench {

// The rows at an address: `count` of `columns` numbers each, of which the first is row `first`.
struct RowsAt {
  DType type = DType::kF32;
  int64_t columns = 1, count = 1, first = 0;
};

// Throws Error where a bit differs, beginning with `what` and naming the row, the column (of rows
// of several), both numbers: "table 0: the weights of row 7, column 3: expected 0.5, got 0.25".
// REQUIRES: both on the host.
void CheckRows(const std::string& what, const RowsAt& rows, const void* expected, const void* got);

}  // namespace tessera::bench
#endif  // TESSERA_BENCH_LAB_ROW_CHECK_H_
