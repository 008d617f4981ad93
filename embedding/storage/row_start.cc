#include "embedding/storage/row_start.h"

#include "runtime/fill_uniform.h"

namespace tessera {

void FillStart(Context& ctx, const RowStart& start, int64_t first_row, const Tensor& rows) {
  const auto fill = [&](int64_t row, const Tensor& part) {
    FillUniformFrom(ctx, part, start.low, start.high, start.sequence,
                    start.first + row * start.row_elements);
  };
  if (rows.numel() == rows.dim(0) * start.row_elements) return fill(first_row, rows);
  for (int64_t r = 0; r < rows.dim(0); ++r) fill(first_row + r, rows.Rows(r, r + 1));
}

Tensor StartingRows(Context& ctx, const RowStart& start, int64_t first_row, int64_t count,
                    int64_t columns, DType dtype) {
  const Tensor rows = Tensor::Empty(ctx, {count, columns});
  FillStart(ctx, start, first_row, rows);
  return rows.To(ctx, dtype);
}

}  // namespace tessera
