#ifndef TESSERA_EMBEDDING_QUANTIZED_SLICE_COLUMNS_H_
#define TESSERA_EMBEDDING_QUANTIZED_SLICE_COLUMNS_H_
// Columns of stored rows, as stored rows of their own: the codes of these columns, and the whole
// row's scale and bias (mx4: the exponents of its groups), so that every number decodes to the bits
// that it has in the whole row.
#include <cstdint>

#include "quant/row_codec.h"
#include "quant/row_layout.h"
#include "runtime/tensor.h"

namespace tessera {

// Rows of the codec are cut in front of columns that are multiples of this.
int64_t ColumnStep(const RowCodec& codec);

// rows: u8 [E, RowBytes(codec, dim)] on ctx's device -> u8 [E, RowBytes(codec, columns)]. Throws
// Error for columns outside the row, for a width that the codec does not take, and for a first
// column that does not begin a byte (int4: even; int2: a multiple of 4) or a group of mx4 (32), as
// must the column behind the last one, unless it ends the row.
Tensor SliceColumns(Context& ctx, const RowCodec& codec, const Tensor& rows, int64_t dim,
                    int64_t column, int64_t columns);

}  // namespace tessera
#endif  // TESSERA_EMBEDDING_QUANTIZED_SLICE_COLUMNS_H_
