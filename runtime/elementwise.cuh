#ifndef TESSERA_RUNTIME_ELEMENTWISE_CUH_
#define TESSERA_RUNTIME_ELEMENTWISE_CUH_
// How the items of elementwise.h run on CUDA. For .cu files.
#include "runtime/context.h"
#include "runtime/elementwise.h"
#include "runtime/launch.cuh"

namespace tessera::internal {

template <typename Functor>
void RunItems(OnCuda, Context& ctx, int64_t n, int64_t /*grain*/, const Functor& functor) {
  ForEach(ctx, n, functor);
}

// Compiles a functor for CUDA. In namespace tessera::internal.
#define TESSERA_ELEMENTWISE_ON_CUDA(Functor) \
  template void RunItems(OnCuda, Context&, int64_t, int64_t, const Functor&)

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_ELEMENTWISE_CUH_
