#ifndef TESSERA_OPTIM_DENSE_STEP_IMPL_H_
#define TESSERA_OPTIM_DENSE_STEP_IMPL_H_
// A dense optimizer's step on the devices; all give the same bits.
#include <functional>
#include <vector>

#include "optim/dense_step.h"
#include "runtime/context.h"

namespace tessera::internal {

enum class DenseStepKind { kSgd, kSgdMomentum, kAdagrad, kRowwiseAdagrad, kAdam, kAdamAmsgrad };

// One step of all these parameters; `again`, for a recorded step (runtime/recorded_step.h), gives
// those of each of its launches.
using DenseStepsAgain = std::function<std::vector<DenseStepArgs>()>;
void RunDenseStep(OnCpu, Context& ctx, DenseStepKind kind,
                  const std::vector<DenseStepArgs>& parameters, const DenseStepsAgain& again);
void RunDenseStep(OnCuda, Context& ctx, DenseStepKind kind,
                  const std::vector<DenseStepArgs>& parameters, const DenseStepsAgain& again);

}  // namespace tessera::internal
#endif  // TESSERA_OPTIM_DENSE_STEP_IMPL_H_
