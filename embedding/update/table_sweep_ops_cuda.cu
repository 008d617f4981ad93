#include "embedding/update/table_sweep_ops.h"
#include "runtime/launch.cuh"

namespace tessera::internal {

void ForEachElement(OnCuda, Context& ctx, int64_t n, const LeadElement& fn) { ForEach(ctx, n, fn); }
void ForEachElement(OnCuda, Context& ctx, int64_t n, const EnsembleElement& fn) {
  ForEach(ctx, n, fn);
}
void ForEachElement(OnCuda, Context& ctx, int64_t n, const PartMaximum& fn) { ForEach(ctx, n, fn); }
void ForEachElement(OnCuda, Context& ctx, int64_t n, const CopyWeight& fn) { ForEach(ctx, n, fn); }
void ForEachElement(OnCuda, Context& ctx, int64_t n, const OwedWeight& fn) { ForEach(ctx, n, fn); }

}  // namespace tessera::internal
