#include "runtime/context.h"
#include "runtime/launch.cuh"
#include "runtime/ops/activation_impl.h"

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
