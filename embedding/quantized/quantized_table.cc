#include "embedding/quantized/quantized_table.h"

#include "runtime/base/size_limits.h"

namespace tessera {

void CheckQuantizedTable(const Context& ctx, const QuantizedTable& table) {
  CheckTableSize(table.num_embeddings, table.embedding_dim, Format("table {}", table.name));
  const Shape expected = {table.num_embeddings + table.has_default_row,
                          RowBytes(table.codec, table.embedding_dim)};
  TESSERA_CHECK(table.rows && table.rows.dtype() == DType::kU8 && table.rows.shape() == expected &&
                    table.rows.is_contiguous(),
                "table {}: stored rows {} {}; expected u8 {}, contiguous, of codec {}", table.name,
                table.rows.dtype(), table.rows.shape(), expected, table.codec);
  CheckDevice(ctx, table.name.c_str(), table.rows);
  if (table.index_remap == nullptr) return;
  TESSERA_CHECK_EQ(table.index_remap->rows(), table.num_embeddings,
                   "table {}: rows that its remap names", table.name);
  CheckDevice(ctx, table.name.c_str(), table.index_remap->data());
}

}  // namespace tessera
