#ifndef TESSERA_OPTIM_DENSE_STEP_H_
#define TESSERA_OPTIM_DENSE_STEP_H_
// The step of a dense optimizer on arrays: loops compiled once for each instruction set
// (dense_step_simd.cc), and kernels (dense_step_cuda.cu), of the same formulas
// (dense_step_formulas.h).
#include <cstdint>

#include "runtime/base/isa.h"

namespace tessera::internal {

// A parameter or a piece of one, and what one step computes with. All formulas begin with g =
// sign·grad + l2·p.
struct DenseStepArgs {
  float* p;
  const float* grad;
  float* state[3];  // beside `step`, in the order of the state's names
  int64_t n;        // elements; row-wise: rows
  int64_t dim;      // row-wise only

  float sign, l2, rate, eps;
  float momentum, undampened;        // SGD: buf = momentum·buf + undampened·g
  bool nesterov, first;              // first: buf = g
  float keep;                        // AdamW: p ← keep·p before all else
  float beta1, beta2, rest1, rest2;  // Adam: m = beta1·m + rest1·g, v = beta2·v + rest2·g²
  float root_correction;             // Adam: the denominator is √v/root_correction + eps
};

struct DenseStepKernels {
  void (*sgd)(const DenseStepArgs&);
  void (*sgd_momentum)(const DenseStepArgs&);
  void (*adagrad)(const DenseStepArgs&);
  void (*rowwise_adagrad)(const DenseStepArgs&);
  void (*adam)(const DenseStepArgs&);
  void (*adam_amsgrad)(const DenseStepArgs&);
};

#define TESSERA_DECLARE_DENSE_STEP_(isa)    \
  namespace isa {                           \
  extern const DenseStepKernels kDenseStep; \
  }
TESSERA_FOR_EACH_ISA(TESSERA_DECLARE_DENSE_STEP_)
#undef TESSERA_DECLARE_DENSE_STEP_

}  // namespace tessera::internal
#endif  // TESSERA_OPTIM_DENSE_STEP_H_
