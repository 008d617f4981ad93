#ifndef TESSERA_SHARDING_QUANTIZED_QUANTIZED_SHARDS_H_
#define TESSERA_SHARDING_QUANTIZED_QUANTIZED_SHARDS_H_
// Quantized tables cut by a plan: rectangles of stored rows, each on the device of its rank.
//
//   rows      a range of the table's; on the host it is the table's own memory that is read. The
//             last range has the default row, too, behind its rows.
//   columns   rows stored anew, whose numbers decode to the bits that they have in the whole row
//             (embedding/quantized/slice_columns.h)
#include <span>
#include <vector>

#include "embedding/quantized/quantized_table.h"
#include "runtime/tensor.h"
#include "sharding/plan/plan.h"

namespace tessera {

struct QuantizedShard {
  Shard shard;  // with the default row, where it has one
  Tensor rows;  // u8 [shard.rows, layout.row_bytes]
  RowLayout layout;
};

struct QuantizedTableShards {
  // Column block by column block, rows ascending; none is empty.
  std::vector<QuantizedShard> shards;
  // Begins of the blocks of rows, ascending, and the end of the last one.
  std::vector<int64_t> row_begins;
  int64_t row_end = 0;

  bool whole() const { return shards.size() == 1; }
  bool row_split() const { return row_begins.size() > 1; }
};

// devices: one a rank of the plan. Rows for a GPU are moved by a context of its own; waits for it.
// Throws Error as CheckPlan does, and for data_parallel, kernels that are a matter of training
// (fused_uvm, fused_uvm_caching: a rank of the host takes their place), and columns that a codec
// cannot be cut at.
std::vector<QuantizedTableShards> ShardQuantizedTables(std::span<const QuantizedTable> tables,
                                                       const ShardingPlan& plan,
                                                       std::span<const Device> devices);

}  // namespace tessera
#endif  // TESSERA_SHARDING_QUANTIZED_QUANTIZED_SHARDS_H_
