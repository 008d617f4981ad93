// One launch steps all parameters; a block takes a piece of one of them.
#include <algorithm>
#include <utility>

#include "optim/dense_step_formulas.h"
#include "optim/dense_step_impl.h"
#include "optim/parameter_table.h"
#include "runtime/base/check.h"
#include "runtime/context.h"
#include "runtime/ops/kernels/warp_lanes.cuh"
#include "runtime/recorded_launch.cuh"

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

struct Kernels {
  void (*few)(FewParameters);
  void (*many)(ManyParameters);
  int64_t items;  // elements or rows of a block
};

// Launches few parameters at a time, of which every launch of the CudaGraph has its own numbers.
void RecordAll(Context& ctx, const Kernels& kernels, const std::vector<DenseStepArgs>& parameters,
               const DenseStepsAgain& again) {
  for (size_t begin = 0; begin < parameters.size(); begin += kFew) {
    const auto batch_of = [begin, items = kernels.items](const std::vector<DenseStepArgs>& all) {
      const size_t end = std::min(all.size(), begin + kFew);
      ParameterRows<DenseStepArgs> rows;
      for (size_t i = begin; i < end; ++i) rows.Add(all[i], all[i].n, items);
      FewParameters batch = {static_cast<int>(rows.rows.size()), {}};
      std::copy(rows.rows.begin(), rows.rows.end(), batch.rows);
      return std::pair(batch, rows.pieces);
    };
    const auto [batch, pieces] = batch_of(parameters);
    LaunchRecorded(ctx, kernels.few, dim3(static_cast<unsigned>(pieces)), dim3(kThreads), 0, batch,
                   [batch_of, again] { return batch_of(again()).first; });
  }
}

// Launches the kernel that suits the number of parameters, a block for each `items` of their
// elements or rows.
void LaunchAll(Context& ctx, const Kernels& kernels, const std::vector<DenseStepArgs>& parameters,
               const DenseStepsAgain& again) {
  ParameterRows<DenseStepArgs> all;
  for (const DenseStepArgs& a : parameters) all.Add(a, a.n, kernels.items);
  TESSERA_CHECK(all.pieces < int64_t{1} << 31, "dense optimizer on {}: {} blocks in one step",
                ctx.device(), all.pieces);
  if (again) return RecordAll(ctx, kernels, parameters, again);
  const dim3 blocks(static_cast<unsigned>(all.pieces)), threads(kThreads);
  if (all.rows.size() > kFew)
    return Launch(ctx, kernels.many, blocks, threads, 0, PlacedRows(ctx, all).table);
  FewParameters batch = {static_cast<int>(all.rows.size()), {}};
  std::copy(all.rows.begin(), all.rows.end(), batch.rows);
  Launch(ctx, kernels.few, blocks, threads, 0, batch);
}

template <typename Formula>
constexpr Kernels ElementKernels() {
  return {StepElements<Formula, FewParameters>, StepElements<Formula, ManyParameters>,
          kThreads * kElementsOfAThread};
}
Kernels KernelsOf(DenseStepKind kind) {
  switch (kind) {
    case DenseStepKind::kSgd:
      return ElementKernels<SgdStep>();
    case DenseStepKind::kSgdMomentum:
      return ElementKernels<SgdMomentumStep>();
    case DenseStepKind::kAdagrad:
      return ElementKernels<AdagradStep>();
    case DenseStepKind::kRowwiseAdagrad:
      return {StepRows<RowwiseAdagradStep, FewParameters>,
              StepRows<RowwiseAdagradStep, ManyParameters>, kThreads / kLanes};
    case DenseStepKind::kAdam:
      return ElementKernels<AdamStep<false>>();
    case DenseStepKind::kAdamAmsgrad:
      return ElementKernels<AdamStep<true>>();
  }
  TESSERA_FAIL("dense optimizer: unknown step {}", static_cast<int>(kind));
}

}  // namespace

void RunDenseStep(OnCuda, Context& ctx, DenseStepKind kind,
                  const std::vector<DenseStepArgs>& parameters, const DenseStepsAgain& again) {
  LaunchAll(ctx, KernelsOf(kind), parameters, again);
}

}  // namespace tessera::internal
