#include "runtime/context.h"
#include "runtime/ops/norm_impl.h"

namespace tessera::internal {

void LayerNormForward(OnCpu, Context& ctx, const LayerNormArgs& all) {
  ParallelFor(ctx, all.rows, kRowsOfAPiece, [&](int64_t begin, int64_t end) {
    LayerNormArgs piece = all;
    piece.x += begin * all.dim;
    piece.y += begin * all.dim;
    piece.mean += begin;
    piece.rstd += begin;
    piece.rows = end - begin;
    ChosenNorm().forward(piece);
  });
}

void LayerNormBackward(OnCpu, Context& ctx, const LayerNormGradArgs& all) {
  ParallelFor(ctx, all.rows, kRowsOfAPiece, [&](int64_t begin, int64_t end) {
    LayerNormGradArgs piece = all;
    piece.x += begin * all.dim;
    piece.dy += begin * all.dim;
    if (all.dx != nullptr) piece.dx += begin * all.dim;
    piece.mean += begin;
    piece.rstd += begin;
    piece.dweight += begin / kRowsOfAPiece * 2 * all.dim;
    piece.dbias += begin / kRowsOfAPiece * 2 * all.dim;
    piece.rows = end - begin;
    ChosenNorm().backward(piece);
  });
}

}  // namespace tessera::internal
