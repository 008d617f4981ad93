#ifndef TESSERA_RUNTIME_OPS_GEMM_IMPL_H_
#define TESSERA_RUNTIME_OPS_GEMM_IMPL_H_
// The matrix product on each device.
#include <memory>

#include "runtime/base/host_device.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/kernels/activation_formulas.h"
#include "runtime/ops/kernels/kernels.h"

namespace tessera::internal {

// B[n, k] in panels for the kernels of a level.
struct PackedPanels {
  IsaLevel level;
  const float* b;  // what was packed
  int64_t n, k;
  Tensor panels;
};

// C_i = op(A_i)·op(B_i) for i < batch, the matrices of i + 1 lying `step_*` elements behind those
// of i; then bias (if not null) is added to each row of C, and negative elements become 0 if relu.
struct GemmProblem {
  GemmForm form;
  GemmArgs first;  // the matrices of i = 0
  int64_t batch = 1, step_a = 0, step_b = 0, step_c = 0;
  const float* bias = nullptr;
  bool relu = false;
  const PackedPanels* packed = nullptr;  // of B, or null
  bool add = false;                      // to what C has. REQUIRES: kTN, batch 1
};

// An element of C, from its sum; `bias` is that of its column, or null.
TESSERA_HD float FinishElement(float sum, const float* bias, bool relu) {
  if (bias != nullptr) sum += *bias;
  return relu ? ReluFormula::Value(sum) : sum;
}

// C = op(A)·op(B) for matrices whose rows are contiguous. REQUIRES: shapes that agree.
GemmProblem MakeProblem(GemmForm form, const Tensor& a, const Tensor& b, const Tensor& c);

void RunGemm(OnCpu, Context& ctx, const GemmProblem& problem);
void RunGemm(OnCuda, Context& ctx, const GemmProblem& problem);

// On a CPU, as DenseProducts of the context says.
void RunPortableGemm(Context& ctx, const GemmProblem& problem);
// The panels of B of a portable product of the form kNT.
std::shared_ptr<const PackedPanels> PackPanelsOf(Context& ctx, const Tensor& b);
void RunEigenGemm(Context& ctx, const GemmProblem& problem);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_GEMM_IMPL_H_
