#ifndef TESSERA_SHARDING_QUANTIZED_ONE_TO_ALL_ROWS_H_
#define TESSERA_SHARDING_QUANTIZED_ONE_TO_ALL_ROWS_H_
// Messages to each rank for one batch, and back: bags of row numbers out, rows of f32 back.
//
//   rank's message   ids, lengths and weights of its streams, one behind the other, in memory of
//                    the device where the batch came in
//   rank's answer    for each lookup a matrix [bags or ids, columns] of f32, one behind the other
//
// A stream is the bags of a part of the outputs (embedding/table/output_layout.h) in a block of
// rows, less the block's first row. Lookups of one rank in the same block of rows share it.
#include <optional>
#include <vector>

#include "runtime/tensor.h"
#include "sharding/exchange/row_split.h"
#include "sharding/quantized/quantized_shards.h"

namespace tessera::internal {

// The bags of one feature's part, as row numbers of its table.
struct SentBags {
  Tensor rows;                            // of the whole KJT
  int64_t first_row_number = 0, end = 0;  // of this part's ids
  int64_t first_bag = 0, num_bags = 0;
  const QuantizedTableShards* table = nullptr;
  bool sequence = false;
};

// A lookup of one shard from a rank's message.
struct SentLookup {
  size_t bags = 0;                                   // which SentBags
  size_t shard = 0;                                  // of their table
  int64_t first_bag = 0, num_bags = 0, num_ids = 0;  // in the message
  int64_t answer_at = 0;                             // first element of the answer
  Tensor positions = {};  // of the stream's ids among those of its part: i32, where rows are split

  int64_t answer_rows(bool sequence) const { return sequence ? num_ids : num_bags; }
};

struct RankMessage {
  Tensor ids, lengths, weights;  // weights: undefined without
  std::vector<SentLookup> lookups;
  int64_t answer_elements = 0;
};

struct BatchBags {
  Tensor offsets, lengths;  // of the KJT; lengths i32
  Tensor weights;           // f32, one an id, or undefined
};

// The messages for all ranks. Waits for a device if rows are split.
std::vector<RankMessage> OneToAllRows(Context& ctx, const BatchBags& batch,
                                      const std::vector<SentBags>& bags, size_t ranks);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_QUANTIZED_ONE_TO_ALL_ROWS_H_
