#include "embedding/table/row_init_impl.h"
#include "runtime/context.h"
#include "runtime/launch.cuh"

namespace tessera::internal {

void ForEachElement(OnCuda, Context& ctx, int64_t n, const NormalElement& fn) {
  ForEach(ctx, n, fn);
}
void ForEachElement(OnCuda, Context& ctx, int64_t n, const StartBlock& fn) { ForEach(ctx, n, fn); }

}  // namespace tessera::internal
