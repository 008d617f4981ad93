#include "embedding/lookup/counted_items.cuh"
#include "embedding/table/row_init_impl.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"

namespace tessera::internal {

void ForEachElement(OnCuda, Context& ctx, int64_t n, const NormalElement& fn) {
  ForEach(ctx, n, fn);
}
void ForEachElement(OnCuda, Context& ctx, int64_t n, const StartBlock& fn) { ForEach(ctx, n, fn); }

void StartCounted(OnCuda, Context& ctx, const CountedRows& rows, const StartBlock& fn) {
  ForEachCounted(ctx, rows.count, rows.most, fn.blocks(), fn);
}
void StartCounted(OnCuda, Context& ctx, const CountedRows& rows, const ClearElement& fn) {
  ForEachCounted(ctx, rows.count, rows.most, fn.dim, fn);
}

}  // namespace tessera::internal
