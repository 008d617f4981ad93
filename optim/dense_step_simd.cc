// Steps of dense optimizers over a piece of a parameter. The loops are plain: the compiler
// vectorizes them for each level.
#include "optim/dense_step.h"
#include "optim/dense_step_formulas.h"
#include "runtime/ops/kernels/row_lanes.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

template <typename Formula>
void Step(const DenseStepArgs &args) {
  const DenseStepArgs a = args;  // a copy: the compiler then knows that no store changes it
  float *__restrict p = a.p, *__restrict s0 = a.state[0], *__restrict s1 = a.state[1],
                    *__restrict s2 = a.state[2];
  const float *__restrict grad = a.grad;
  for (int64_t i = 0; i < a.n; ++i) UpdateElement<Formula>(a, p, grad, s0, s1, s2, i);
}

void StepRows(const DenseStepArgs &args) {
  const DenseStepArgs a = args;
  for (int64_t r = 0; r < a.n; ++r) RowwiseAdagradStep::UpdateRow(SerialLanes{}, a, r);
}

}  // namespace

const DenseStepKernels kDenseStep = {Step<SgdStep>, Step<SgdMomentumStep>, Step<AdagradStep>,
                                     StepRows,      Step<AdamStep<false>>, Step<AdamStep<true>>};

}  // namespace tessera::internal::TESSERA_ISA
