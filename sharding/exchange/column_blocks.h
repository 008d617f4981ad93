#ifndef TESSERA_SHARDING_EXCHANGE_COLUMN_BLOCKS_H_
#define TESSERA_SHARDING_EXCHANGE_COLUMN_BLOCKS_H_
// Between the embeddings of a rank's own bags, wide rows, and what other ranks hold of them: blocks
// of columns, each in parts, one a range of the table's rows.
//
//   wide[row(i), columns of the block] = scale(i) · Σ_k part_k[i]      (GatherBlocks)
//   part_k[i] = scale(i) · wide[row(i), columns of the block]          (SpreadBlocks: transposed)
//
// row(i) is rows[i], or i; scale(i) is 1, or 1/L of bag i (embedding/lookup/row_ops.h) for the MEAN
// of a table whose rows are split. Parts are added in their order.
#include <cstdint>
#include <vector>

#include "embedding/lookup/row_ops.h"
#include "runtime/tensor.h"

namespace tessera {

struct ColumnBlock {
  float* wide = nullptr;  // row 0, at the block's first column
  int64_t stride = 0;     // elements from one wide row to the next
  int64_t num_rows = 0, columns = 0;
  std::vector<float*> parts;      // [num_rows, columns] each
  const int32_t* rows = nullptr;  // [num_rows], distinct
  // Offsets of the bags, in which bag 0 of the block is number first_bag; without them scale is 1.
  IndexArray offsets = {};
  int64_t first_bag = 0;
};

// Blocks do not overlap. Wide rows that no block names stay as they are; a block without parts
// becomes 0.
void GatherBlocks(Context& ctx, const std::vector<ColumnBlock>& blocks);
void SpreadBlocks(Context& ctx, const std::vector<ColumnBlock>& blocks);

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_COLUMN_BLOCKS_H_
