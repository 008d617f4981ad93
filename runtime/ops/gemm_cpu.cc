#include "runtime/context.h"
#include "runtime/ops/gemm_impl.h"

namespace tessera::internal {

void RunGemm(OnCpu, Context& ctx, const GemmProblem& problem) {
  if (ctx.dense_products() == DenseProducts::kPortable)
    RunPortableGemm(ctx, problem);
  else
    RunEigenGemm(ctx, problem);
}

}  // namespace tessera::internal
