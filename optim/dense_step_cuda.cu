// One launch steps up to kParameters parameters; a block takes a piece of one of them.
#include <algorithm>

#include "optim/dense_step_formulas.h"
#include "optim/dense_step_impl.h"
#include "runtime/ops/warp_lanes.cuh"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256, kElementsOfAThread = 8, kParameters = 32;

// The parameters of a launch, as an argument of the kernel: at most 4 KiB.
struct Batch {
  int count = 0;
  int first_block[kParameters + 1] = {};
  DenseStepArgs parameters[kParameters] = {};
};
static_assert(sizeof(Batch) <= 4096);

// What a block works on: a parameter, and which of its pieces.
struct Piece {
  const DenseStepArgs& args;
  int64_t index;
};
__device__ Piece PieceOf(const Batch& batch, int block) {
  int parameter = 0;
  while (block >= batch.first_block[parameter + 1]) ++parameter;
  return {batch.parameters[parameter], block - batch.first_block[parameter]};
}

template <typename Formula>
__global__ void StepElements(const __grid_constant__ Batch batch) {
  const auto [a, index] = PieceOf(batch, static_cast<int>(blockIdx.x));
  const int64_t begin = index * kThreads * kElementsOfAThread + threadIdx.x;
  for (int k = 0; k < kElementsOfAThread; ++k) {
    const int64_t i = begin + k * kThreads;
    if (i < a.n) UpdateElement<Formula>(a, a.p, a.grad, a.state[0], a.state[1], a.state[2], i);
  }
}

template <typename Formula>
__global__ void StepRows(const __grid_constant__ Batch batch) {
  const auto [a, index] = PieceOf(batch, static_cast<int>(blockIdx.x));
  const int64_t row = index * (kThreads / kLanes) + threadIdx.x / kLanes;
  if (row < a.n) Formula::UpdateRow(WarpLanes{}, a, row);
}

// Launches `kernel` for all parameters, a block for each `items` of their elements or rows.
void LaunchAll(Context& ctx, void (*kernel)(Batch), int64_t items,
               const std::vector<DenseStepArgs>& parameters) {
  Batch batch;
  const auto flush = [&] {
    Launch(ctx, kernel, dim3(static_cast<unsigned>(batch.first_block[batch.count])), dim3(kThreads),
           0, batch);
    batch = {};
  };
  for (const DenseStepArgs& a : parameters) {
    if (a.n == 0) continue;
    batch.parameters[batch.count] = a;
    batch.first_block[batch.count + 1] =
        batch.first_block[batch.count] + static_cast<int>((a.n + items - 1) / items);
    if (++batch.count == kParameters) flush();
  }
  flush();
}

}  // namespace

void RunDenseStep(OnCuda, Context& ctx, DenseStepKind kind,
                  const std::vector<DenseStepArgs>& parameters) {
  const auto elements = [&](void (*kernel)(Batch)) {
    LaunchAll(ctx, kernel, kThreads * kElementsOfAThread, parameters);
  };
  switch (kind) {
    case DenseStepKind::kSgd:
      return elements(StepElements<SgdStep>);
    case DenseStepKind::kSgdMomentum:
      return elements(StepElements<SgdMomentumStep>);
    case DenseStepKind::kAdagrad:
      return elements(StepElements<AdagradStep>);
    case DenseStepKind::kRowwiseAdagrad:
      return LaunchAll(ctx, StepRows<RowwiseAdagradStep>, kThreads / kLanes, parameters);
    case DenseStepKind::kAdam:
      return elements(StepElements<AdamStep<false>>);
    case DenseStepKind::kAdamAmsgrad:
      return elements(StepElements<AdamStep<true>>);
  }
}

}  // namespace tessera::internal
