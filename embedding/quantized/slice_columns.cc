#include "embedding/quantized/slice_columns.h"

#include "quant/mx4.h"

namespace tessera {
namespace {

int64_t BitsOf(RowReading reading) {
  switch (reading) {
    case RowReading::kF32:
      return 32;
    case RowReading::kF16:
    case RowReading::kBF16:
      return 16;
    case RowReading::kHfp8:
    case RowReading::kE4M3:
    case RowReading::kE5M2:
    case RowReading::kAffine8:
      return 8;
    case RowReading::kAffine2:
      return 2;
    case RowReading::kAffine4:
    case RowReading::kMx4:
      return 4;
  }
  TESSERA_FAIL("row reading {}", static_cast<int>(reading));
}

bool IsAffine(RowReading reading) {
  return reading == RowReading::kAffine8 || reading == RowReading::kAffine4 ||
         reading == RowReading::kAffine2;
}

// The byte at which the codes of `column` begin. REQUIRES: a multiple of the step.
int64_t ByteOf(const RowLayout& layout, const RowCodec& codec, int64_t column) {
  if (layout.reading == RowReading::kMx4) return column == 0 ? 0 : UnpaddedRowBytes(codec, column);
  return layout.codes_at + column * BitsOf(layout.reading) / 8;
}

void CopyBytes(Context& ctx, const Tensor& from, int64_t from_byte, const Tensor& to,
               int64_t to_byte, int64_t bytes) {
  to.Narrow(1, to_byte, bytes).CopyFrom(ctx, from.Narrow(1, from_byte, bytes));
}

}  // namespace

int64_t ColumnStep(const RowCodec& codec) {
  const RowReading reading = LayoutOf(codec, kMx4Group).reading;
  if (reading == RowReading::kMx4) return kMx4Group;
  const int64_t bits = BitsOf(reading);
  return bits < 8 ? 8 / bits : 1;
}

Tensor SliceColumns(Context& ctx, const RowCodec& codec, const Tensor& rows, int64_t dim,
                    int64_t column, int64_t columns) {
  const RowLayout from = LayoutOf(codec, dim), to = LayoutOf(codec, columns);
  const int64_t step = ColumnStep(codec), end = column + columns;
  TESSERA_CHECK(0 <= column && end <= dim, "columns {} to {} of rows of {}", column, end, dim);
  TESSERA_CHECK(column % step == 0 && (end % step == 0 || end == dim),
                "columns {} to {} of {} rows: they are cut at multiples of {} only", column, end,
                codec, step);
  CheckDevice(ctx, "columns of stored rows", rows);
  TESSERA_CHECK(rows.dtype() == DType::kU8 && rows.rank() == 2 && rows.dim(1) == from.row_bytes,
                "columns of stored rows {} {}; expected u8 [E, {}]", rows.dtype(), rows.shape(),
                from.row_bytes);
  const Tensor slice = Tensor::Zeros(ctx, {rows.dim(0), to.row_bytes}, DType::kU8);
  const bool affine = IsAffine(from.reading);
  const int64_t params = affine ? (from.f32_params ? 8 : 4) : 0;
  const int64_t codes = affine ? columns * BitsOf(to.reading) / 8 : to.used_bytes;
  CopyBytes(ctx, rows, ByteOf(from, codec, column), slice, to.codes_at, codes);
  if (affine) CopyBytes(ctx, rows, from.params_at, slice, to.params_at, params);
  return slice;
}

}  // namespace tessera
