#include "embedding/lookup/counted_items.cuh"
#include "embedding/table/row_init_impl.h"
#include "runtime/context.h"
#include "runtime/elementwise.cuh"
#include "runtime/launch.cuh"

namespace tessera::internal {

TESSERA_ELEMENTWISE_ON_CUDA(NormalElement);
TESSERA_ELEMENTWISE_ON_CUDA(StartBlock);

void StartCounted(OnCuda, Context& ctx, const CountedRows& rows, const StartBlock& fn) {
  ForEachCounted(ctx, rows.count, rows.most, fn.blocks(), fn);
}
void StartCounted(OnCuda, Context& ctx, const CountedRows& rows, const ClearElement& fn) {
  ForEachCounted(ctx, rows.count, rows.most, fn.dim, fn);
}

}  // namespace tessera::internal
