#ifndef TESSERA_RUNTIME_FILL_UNIFORM_H_
#define TESSERA_RUNTIME_FILL_UNIFORM_H_
// A part of what FillUniform would fill a larger tensor with.
#include "runtime/tensor.h"

namespace tessera {

// Fills `tensor` (f32) as elements first, first + 1, … of a tensor that FillUniform fills with
// sequence `sequence` of ctx.random(), which does not change. REQUIRES: contiguous.
void FillUniformFrom(Context& ctx, const Tensor& tensor, float low, float high, uint64_t sequence,
                     int64_t first);

}  // namespace tessera
#endif  // TESSERA_RUNTIME_FILL_UNIFORM_H_
