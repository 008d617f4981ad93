#ifndef TESSERA_OPTIM_DENSE_STEP_IMPL_H_
#define TESSERA_OPTIM_DENSE_STEP_IMPL_H_
// A dense optimizer's step on the devices; all give the same bits.
#include <vector>

#include "optim/dense_step.h"
#include "runtime/context.h"

namespace tessera::internal {

enum class DenseStepKind { kSgd, kSgdMomentum, kAdagrad, kRowwiseAdagrad, kAdam, kAdamAmsgrad };

// One step of all these parameters.
void RunDenseStep(OnCpu, Context& ctx, DenseStepKind kind,
                  const std::vector<DenseStepArgs>& parameters);
void RunDenseStep(OnCuda, Context& ctx, DenseStepKind kind,
                  const std::vector<DenseStepArgs>& parameters);

}  // namespace tessera::internal
#endif  // TESSERA_OPTIM_DENSE_STEP_IMPL_H_
