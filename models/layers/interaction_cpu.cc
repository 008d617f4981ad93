#include "models/layers/interaction_impl.h"
#include "runtime/base/isa.h"
#include "runtime/context.h"
#include "runtime/device/scratch_pool.h"

namespace tessera::internal {
namespace {

constexpr int64_t kRowsOfAPiece = 16;

const InteractionKernels& Kernels() { return TESSERA_OF_CHOSEN_ISA(kInteraction); }

int64_t Width(int64_t features, int64_t dim) { return dim + features * (features + 1) / 2; }

// Gradients that caches cannot hold until they are read: with rows of dim 128 and a batch of 2,048
// backward then takes three quarters of the time (Zen 3).
bool StreamsGradients(const InteractionGradArgs& a) {
  constexpr int64_t kCacheBytes = 8 << 20, kLine = 64;
  const auto begins_line = [](const float* p) {
    return reinterpret_cast<uintptr_t>(p) % kLine == 0;
  };
  const int64_t row = a.dim * int64_t{sizeof(float)};
  return a.rows * a.features * row > kCacheBytes && row % kLine == 0 && begins_line(a.ddense) &&
         begins_line(a.dsparse);
}

ScratchVector<float> Scratch(int64_t features, int64_t dim) {
  return ScratchVector<float>(static_cast<size_t>(InteractionScratch(features, dim)));
}

}  // namespace

void InteractionForward(OnCpu, Context& ctx, const InteractionArgs& all) {
  ParallelFor(ctx, all.rows, kRowsOfAPiece, [&](int64_t begin, int64_t end) {
    ScratchVector<float> scratch = Scratch(all.features, all.dim);
    InteractionArgs piece = all;
    piece.dense += begin * all.dense_stride;
    piece.sparse += begin * all.sparse_stride;
    piece.y += begin * Width(all.features, all.dim);
    piece.scratch = scratch.data();
    piece.rows = end - begin;
    Kernels().forward(piece);
  });
}

void InteractionBackward(OnCpu, Context& ctx, const InteractionGradArgs& all) {
  const bool stream = StreamsGradients(all);
  ParallelFor(ctx, all.rows, kRowsOfAPiece, [&](int64_t begin, int64_t end) {
    ScratchVector<float> scratch = Scratch(all.features, all.dim);
    InteractionGradArgs piece = all;
    piece.stream = stream;
    piece.dense += begin * all.dense_stride;
    piece.sparse += begin * all.sparse_stride;
    piece.dy += begin * Width(all.features, all.dim);
    piece.ddense += begin * all.dim;
    piece.dsparse += begin * all.features * all.dim;
    piece.scratch = scratch.data();
    piece.rows = end - begin;
    Kernels().backward(piece);
  });
}

}  // namespace tessera::internal
