#ifndef TESSERA_EMBEDDING_STORAGE_ROW_START_H_
#define TESSERA_EMBEDDING_STORAGE_ROW_START_H_
// First values of a table's rows that are made when they are first read: those that FillUniform
// would have filled the whole table with.
#include <cstdint>

#include "runtime/context.h"
#include "runtime/tensor.h"

namespace tessera {

// Elements of FillUniform's sequence `sequence` under `seed`. Row r of a shard begins with element
// `first` + r · `row_elements`, as in the whole table.
struct RowStart {
  float low = 0, high = 0;
  uint64_t seed = 0, sequence = 0;
  int64_t first = 0, row_elements = 0;

  friend bool operator==(const RowStart&, const RowStart&) = default;
};

// Fills `rows` ([n, D], f32, contiguous) as rows first_row, first_row + 1, …. REQUIRES: a ctx of
// start.seed.
void FillStart(Context& ctx, const RowStart& start, int64_t first_row, const Tensor& rows);
// Returns rows first_row, first_row + 1, …, [count, columns] of `dtype`. REQUIRES: as FillStart.
Tensor StartingRows(Context& ctx, const RowStart& start, int64_t first_row, int64_t count,
                    int64_t columns, DType dtype);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_STORAGE_ROW_START_H_
