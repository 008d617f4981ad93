// One launch steps all parameters; a block takes a piece of one of them.
#include <algorithm>

#include "optim/dense_step_formulas.h"
#include "optim/dense_step_impl.h"
#include "optim/parameter_table.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/ops/kernels/warp_lanes.cuh"

namespace tessera::internal {
namespace {

constexpr int kThreads = 256, kElementsOfAThread = 8, kFew = 32;

// The parameters of a launch. Few travel with it as an argument of the kernel, at most 4 KiB; more
// are copied to the device first.
struct FewParameters {
  int count;
  ParameterRow<DenseStepArgs> rows[kFew];
};
static_assert(sizeof(FewParameters) <= 4096);
using ManyParameters = ParameterTable<DenseStepArgs>;

template <typename Formula, typename Parameters>
__global__ void StepElements(const __grid_constant__ Parameters parameters) {
  const auto& row = RowOfPiece(parameters, blockIdx.x);
  const DenseStepArgs a = row.args;
  const int64_t begin = (blockIdx.x - row.first) * kThreads * kElementsOfAThread + threadIdx.x;
  for (int k = 0; k < kElementsOfAThread; ++k) {
    const int64_t i = begin + k * kThreads;
    if (i < a.n) UpdateElement<Formula>(a, a.p, a.grad, a.state[0], a.state[1], a.state[2], i);
  }
}

template <typename Formula, typename Parameters>
__global__ void StepRows(const __grid_constant__ Parameters parameters) {
  const auto& row_of = RowOfPiece(parameters, blockIdx.x);
  const DenseStepArgs a = row_of.args;
  const int64_t row = (blockIdx.x - row_of.first) * (kThreads / kLanes) + threadIdx.x / kLanes;
  if (row < a.n) Formula::UpdateRow(WarpLanes{}, a, row);
}

// Launches the kernel that suits the number of parameters, a block for each `items` of their
// elements or rows.
void LaunchAll(Context& ctx, void (*few)(FewParameters), void (*many)(ManyParameters),
               int64_t items, const std::vector<DenseStepArgs>& parameters) {
  ParameterRows<DenseStepArgs> all;
  for (const DenseStepArgs& a : parameters) all.Add(a, a.n, items);
  TESSERA_CHECK(all.pieces < int64_t{1} << 31, "dense optimizer on {}: {} blocks in one step",
                ctx.device(), all.pieces);
  const dim3 blocks(static_cast<unsigned>(all.pieces)), threads(kThreads);
  if (all.rows.size() > kFew)
    return Launch(ctx, many, blocks, threads, 0, PlacedRows(ctx, all).table);
  FewParameters batch = {static_cast<int>(all.rows.size()), {}};
  std::copy(all.rows.begin(), all.rows.end(), batch.rows);
  Launch(ctx, few, blocks, threads, 0, batch);
}

template <typename Formula>
void LaunchElements(Context& ctx, const std::vector<DenseStepArgs>& parameters) {
  LaunchAll(ctx, StepElements<Formula, FewParameters>, StepElements<Formula, ManyParameters>,
            kThreads * kElementsOfAThread, parameters);
}

}  // namespace

void RunDenseStep(OnCuda, Context& ctx, DenseStepKind kind,
                  const std::vector<DenseStepArgs>& parameters) {
  switch (kind) {
    case DenseStepKind::kSgd:
      return LaunchElements<SgdStep>(ctx, parameters);
    case DenseStepKind::kSgdMomentum:
      return LaunchElements<SgdMomentumStep>(ctx, parameters);
    case DenseStepKind::kAdagrad:
      return LaunchElements<AdagradStep>(ctx, parameters);
    case DenseStepKind::kRowwiseAdagrad:
      return LaunchAll(ctx, StepRows<RowwiseAdagradStep, FewParameters>,
                       StepRows<RowwiseAdagradStep, ManyParameters>, kThreads / kLanes, parameters);
    case DenseStepKind::kAdam:
      return LaunchElements<AdamStep<false>>(ctx, parameters);
    case DenseStepKind::kAdamAmsgrad:
      return LaunchElements<AdamStep<true>>(ctx, parameters);
  }
}

}  // namespace tessera::internal
