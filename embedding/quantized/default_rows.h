#ifndef TESSERA_EMBEDDING_QUANTIZED_DEFAULT_ROWS_H_
#define TESSERA_EMBEDDING_QUANTIZED_DEFAULT_ROWS_H_
// Maps ids to rows in tables that have a default row.
#include <span>
#include <vector>

#include "embedding/lookup/index_remap.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// Ids [begin, end) of `ids`, which one feature reads from a table of `rows` rows and a default row
// behind them; `remap` may be null.
struct DefaultedIds {
  Tensor ids;
  int64_t begin, end, rows;
  const IndexRemap* remap;
};

// For each feature a tensor like its `ids`, in which its own range names rows, or is −1 where the
// id is; the rest is not to be read. Throws Error for ids of 32 bits and tables of more rows than
// they can name. Never waits.
std::vector<Tensor> RowsOrDefault(Context& ctx, std::span<const DefaultedIds> features);

}  // namespace tessera::internal
#endif  // TESSERA_EMBEDDING_QUANTIZED_DEFAULT_ROWS_H_
