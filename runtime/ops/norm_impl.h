#ifndef TESSERA_RUNTIME_OPS_NORM_IMPL_H_
#define TESSERA_RUNTIME_OPS_NORM_IMPL_H_
// Layer normalization on the devices.
#include "runtime/context.h"
#include "runtime/ops/kernels/kernels.h"

namespace tessera::internal {

void LayerNormForward(OnCpu, Context& ctx, const LayerNormArgs& args);
void LayerNormForward(OnCuda, Context& ctx, const LayerNormArgs& args);

// Each piece of kRowsOfAPiece rows has sums of its own for the gradients of weight and bias:
// args.dweight and args.dbias are those of the first piece, the next lie 2·dim behind; they are
// written. dx is written if not null.
inline constexpr int64_t kRowsOfAPiece = 64;
void LayerNormBackward(OnCpu, Context& ctx, const LayerNormGradArgs& args);
void LayerNormBackward(OnCuda, Context& ctx, const LayerNormGradArgs& args);

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_NORM_IMPL_H_
