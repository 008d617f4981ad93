// Layer normalization of rows.
#include "runtime/ops/kernels/kernels.h"
#include "runtime/ops/kernels/norm_formulas.h"
#include "runtime/ops/kernels/serial_lanes.h"

namespace tessera::internal::TESSERA_ISA {
namespace {

void Forward(const LayerNormArgs &args) {
  for (int64_t r = 0; r < args.rows; ++r) LayerNormRow(SerialLanes{}, args, r);
}

void Backward(const LayerNormGradArgs &args) {
  const int64_t dim = args.dim;
  float *__restrict dweight = args.dweight, *__restrict dbias = args.dbias;
  for (int64_t i = 0; i < dim; ++i) dweight[i] = dbias[i] = 0;
  for (int64_t r = 0; r < args.rows; ++r) {
    const float *__restrict x = args.x + r * dim, *__restrict dy = args.dy + r * dim;
    const float mean = args.mean[r], rstd = args.rstd[r];
    for (int64_t i = 0; i < dim; ++i) {
      dweight[i] += LayerNormWeightTerm(x[i], mean, rstd, dy[i]);
      dbias[i] += dy[i];
    }
    if (args.dx != nullptr) LayerNormGradRow(SerialLanes{}, args, r);
  }
}

}  // namespace

const NormKernels kNorm = {Forward, Backward};

}  // namespace tessera::internal::TESSERA_ISA
