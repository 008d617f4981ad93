#ifndef TESSERA_DATA_BATCH_ROWS_H_
#define TESSERA_DATA_BATCH_ROWS_H_
// A part of a batch: what one rank, or one micro-batch of a step, takes.
#include "data/data_source.h"
#include "runtime/context.h"

namespace tessera {

// Examples [begin, end), maybe none; all else is as in the batch. Waits for a device. REQUIRES: the
// batch lies where ctx works.
Batch RowsOfBatch(Context& ctx, const Batch& batch, int64_t begin, int64_t end);

}  // namespace tessera
#endif  // TESSERA_DATA_BATCH_ROWS_H_
