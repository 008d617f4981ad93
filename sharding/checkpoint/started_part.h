#ifndef TESSERA_SHARDING_CHECKPOINT_STARTED_PART_H_
#define TESSERA_SHARDING_CHECKPOINT_STARTED_PART_H_
// A shard's tensor of which a file holds the rows that have started, one after the other. A reader
// of the StoredPart finds all rows: those that have not started are made.
#include <cstdint>
#include <functional>

#include "embedding/storage/started_rows.h"
#include "runtime/numbers/dtype.h"
#include "sharding/checkpoint/checkpoint_rows.h"
#include "sharding/plan/plan.h"

namespace tessera {

// Reads bytes [begin, begin + count) of the file's tensor.
using ReadStarted = std::function<void(int64_t begin, int64_t count, void* out)>;

// The weights, of type `dtype`: other rows have the values that they start with.
StoredPart WeightsOfAllRows(const Shard& shard, const StartedRows& started, DType dtype,
                            ReadStarted read);
// A state, of row_bytes a row: other rows are 0.
StoredPart StateOfAllRows(const Shard& shard, const StartedRows& started, int64_t row_bytes,
                          ReadStarted read);

}  // namespace tessera
#endif  // TESSERA_SHARDING_CHECKPOINT_STARTED_PART_H_
