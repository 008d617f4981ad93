#ifndef TESSERA_SHARDING_CHECKPOINT_STATE_ROWS_H_
#define TESSERA_SHARDING_CHECKPOINT_STATE_ROWS_H_
// Tensors of a run's state as bytes, whether they lie in memory or are stored elsewhere
// (runtime/named_parameter.h); a few megabytes at a time. REQUIRES of all: tensors of the host or
// of ctx's device, contiguous; ctx and what is stored outlive what is returned.
#include <functional>
#include <span>
#include <vector>

#include "embedding/storage/started_rows.h"
#include "runtime/files/safetensors.h"
#include "runtime/named_parameter.h"
#include "runtime/tensor.h"

namespace tessera {

StreamedTensor StreamedState(Context& ctx, const NamedTensor& state);
// Tensors under their names, for a file. Throws Error for two of one name.
StreamedSafetensors StreamedStates(Context& ctx, std::span<const NamedTensor> states);
// The rows in runs of a tensor that is stored elsewhere.
StreamedTensor StreamedRuns(const NamedTensor& state, const std::vector<RunOfRows>& runs);
// rows [k] i64, on ctx's device; they name rows.
StreamedTensor StreamedRows(Context& ctx, const NamedTensor& state, const Tensor& rows);

// Rows [first, first + count), on ctx's device: those in memory themselves, of stored ones a copy,
// which WriteStored takes back to where it came from.
Tensor RowsOfState(Context& ctx, const NamedTensor& state, int64_t first, int64_t count);
void WriteStored(Context& ctx, const NamedTensor& state, int64_t first, const Tensor& rows);

// read(offset, count, out) gives the bytes, in order.
void ReadState(Context& ctx, const NamedTensor& state,
               const std::function<void(int64_t offset, int64_t count, void* out)>& read);
// Writes the rows in runs of a tensor that is stored elsewhere. read(first, count, out) gives whole
// rows.
void ReadRuns(const NamedTensor& state, const std::vector<RunOfRows>& runs,
              const std::function<void(int64_t first, int64_t count, void* out)>& read);

}  // namespace tessera
#endif  // TESSERA_SHARDING_CHECKPOINT_STATE_ROWS_H_
