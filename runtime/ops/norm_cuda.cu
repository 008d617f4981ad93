#include "runtime/context.h"
#include "runtime/elementwise.cuh"
#include "runtime/ops/kernels/norm_formulas.h"
#include "runtime/ops/kernels/similarity_formulas.h"
#include "runtime/ops/kernels/warp_lanes.cuh"
#include "runtime/ops/norm_impl.h"

namespace tessera::internal {
namespace {

struct LayerNormRows {
  LayerNormArgs args;
  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t row) const {
    LayerNormRow(lanes, args, row);
  }
};
struct LayerNormGradRows {
  LayerNormGradArgs args;
  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t row) const {
    LayerNormGradRow(lanes, args, row);
  }
};

// The gradients of weight and bias of one column over one piece of rows: item i is column i mod dim
// of piece i div dim.
struct ParameterGradients {
  LayerNormGradArgs args;
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t dim = args.dim, piece = i / dim, column = i % dim, begin = piece * kRowsOfAPiece;
    const int64_t end = begin + kRowsOfAPiece < args.rows ? begin + kRowsOfAPiece : args.rows;
    float dweight = 0, dbias = 0;
    for (int64_t r = begin; r < end; ++r) {
      const float dy = args.dy[r * dim + column];
      dweight += LayerNormWeightTerm(args.x[r * dim + column], args.mean[r], args.rstd[r], dy);
      dbias += dy;
    }
    args.dweight[piece * 2 * dim + column] = dweight;
    args.dbias[piece * 2 * dim + column] = dbias;
  }
};

}  // namespace

void LayerNormForward(OnCuda on, Context& ctx, const LayerNormArgs& args) {
  RunRows(on, ctx, args.rows, 1, LayerNormRows{args});
}

void LayerNormBackward(OnCuda on, Context& ctx, const LayerNormGradArgs& args) {
  if (args.dx != nullptr) RunRows(on, ctx, args.rows, 1, LayerNormGradRows{args});
  ForEach(ctx, (args.rows + kRowsOfAPiece - 1) / kRowsOfAPiece * args.dim,
          ParameterGradients{args});
}

TESSERA_ROWS_ON_CUDA(NormalizeRow);
TESSERA_ROWS_ON_CUDA(NormalizeGradRow);
TESSERA_ROWS_ON_CUDA(DotRow);
TESSERA_ELEMENTWISE_ON_CUDA(ScaleRowItems);

}  // namespace tessera::internal
