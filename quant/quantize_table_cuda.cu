// Loops over a block's rows on a GPU: a thread a row.
#include "quant/quantize_table_impl.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"

namespace tessera::internal {

void ForRows(OnCuda, Context& ctx, int64_t rows, const MarkNan& fn) { ForEach(ctx, rows, fn); }
void ForRows(OnCuda, Context& ctx, int64_t rows, const CompareRows& fn) { ForEach(ctx, rows, fn); }

}  // namespace tessera::internal
