// One parallel loop over pieces of all parameters.
#include <algorithm>

#include "optim/dense_step_impl.h"
#include "runtime/base/isa.h"
#include "runtime/context.h"

namespace tessera::internal {
namespace {

// Elements of a piece of work, about.
constexpr int64_t kPiece = 1 << 14;

auto KernelOf(DenseStepKind kind) {
  const DenseStepKernels& k = TESSERA_OF_CHOSEN_ISA(kDenseStep);
  switch (kind) {
    case DenseStepKind::kSgd:
      return k.sgd;
    case DenseStepKind::kSgdMomentum:
      return k.sgd_momentum;
    case DenseStepKind::kAdagrad:
      return k.adagrad;
    case DenseStepKind::kRowwiseAdagrad:
      return k.rowwise_adagrad;
    case DenseStepKind::kAdam:
      return k.adam;
    case DenseStepKind::kAdamAmsgrad:
      break;
  }
  return k.adam_amsgrad;
}

// Items [begin, begin + count) of a parameter.
DenseStepArgs Piece(DenseStepArgs a, bool rowwise, int64_t begin, int64_t count) {
  const int64_t width = rowwise ? a.dim : 1;
  a.n = std::min(count, a.n - begin);
  a.p += begin * width;
  a.grad += begin * width;
  for (float*& state : a.state)
    if (state != nullptr) state += begin;
  return a;
}

}  // namespace

void RunDenseStep(OnCpu, Context& ctx, DenseStepKind kind,
                  const std::vector<DenseStepArgs>& parameters, const DenseStepsAgain& /*again*/) {
  const bool rowwise = kind == DenseStepKind::kRowwiseAdagrad;
  std::vector<DenseStepArgs> pieces;
  for (const DenseStepArgs& a : parameters) {
    const int64_t count = rowwise ? std::max<int64_t>(1, kPiece / a.dim) : kPiece;
    for (int64_t begin = 0; begin < a.n; begin += count)
      pieces.push_back(Piece(a, rowwise, begin, count));
  }
  const auto kernel = KernelOf(kind);
  ParallelFor(ctx, static_cast<int64_t>(pieces.size()), 1,
              [&](int64_t i, int64_t) { kernel(pieces[static_cast<size_t>(i)]); });
}

}  // namespace tessera::internal
