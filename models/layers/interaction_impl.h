#ifndef TESSERA_MODELS_LAYERS_INTERACTION_IMPL_H_
#define TESSERA_MODELS_LAYERS_INTERACTION_IMPL_H_
// The dot interaction on the devices; both give the same bits.
#include "models/layers/interaction_kernels.h"
#include "runtime/context.h"

namespace tessera::internal {

// `scratch` of the arguments is not read.
void InteractionForward(OnCpu, Context& ctx, const InteractionArgs& args);
void InteractionForward(OnCuda, Context& ctx, const InteractionArgs& args);
void InteractionBackward(OnCpu, Context& ctx, const InteractionGradArgs& args);
void InteractionBackward(OnCuda, Context& ctx, const InteractionGradArgs& args);

}  // namespace tessera::internal
#endif  // TESSERA_MODELS_LAYERS_INTERACTION_IMPL_H_
