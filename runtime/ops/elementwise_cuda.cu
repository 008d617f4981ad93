#include "runtime/ops/activation_impl.h"
#include "runtime/ops/elementwise.cuh"

namespace tessera::internal {
namespace {

template <typename Formula>
struct ActivationItems {
  const float* x;
  float* y;
  TESSERA_HD void operator()(int64_t i) const { y[i] = Formula::Value(x[i]); }
};
template <typename Formula>
struct ActivationSlopes {
  const float *saved, *dy;
  float* dx;
  TESSERA_HD void operator()(int64_t i) const { dx[i] = dy[i] * Formula::Slope(saved[i]); }
};

// run(Formula{}) for the formula of `kind`.
template <typename Fn>
void WithFormula(ActivationKind kind, Fn&& run) {
  switch (kind) {
    case ActivationKind::kRelu:
      return run(ReluFormula{});
    case ActivationKind::kSigmoid:
      return run(SigmoidFormula{});
    case ActivationKind::kTanh:
      return run(TanhFormula{});
    case ActivationKind::kSwish:
      return run(SwishFormula{});
  }
}

}  // namespace

TESSERA_ELEMENTWISE_ON_CUDA(AddItems);
TESSERA_ELEMENTWISE_ON_CUDA(MultiplyItems);
TESSERA_ELEMENTWISE_ON_CUDA(MultiplyAddItems);
TESSERA_ELEMENTWISE_ON_CUDA(AddRowItems);
TESSERA_ELEMENTWISE_ON_CUDA(ScaleItems);
TESSERA_ELEMENTWISE_ON_CUDA(SpreadNumber);

void Activate(OnCuda, Context& ctx, ActivationKind kind, const float* x, float* y, int64_t n) {
  WithFormula(kind, [&]<typename Formula>(Formula) {
    ForEach(ctx, n, ActivationItems<Formula>{x, y});
  });
}

void ActivateBackward(OnCuda, Context& ctx, ActivationKind kind, const float* saved,
                      const float* dy, float* dx, int64_t n) {
  WithFormula(kind, [&]<typename Formula>(Formula) {
    ForEach(ctx, n, ActivationSlopes<Formula>{saved, dy, dx});
  });
}

}  // namespace tessera::internal
