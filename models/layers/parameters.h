#ifndef TESSERA_MODELS_LAYERS_PARAMETERS_H_
#define TESSERA_MODELS_LAYERS_PARAMETERS_H_
// New parameters of modules, filled from the context's random numbers.
#include <cmath>
#include <utility>

#include "runtime/autograd.h"

namespace tessera::internal {

inline Variable UniformParameter(Context& ctx, const Shape& shape, float bound) {
  Tensor t = Tensor::Empty(ctx, shape);
  FillUniform(ctx, t, -bound, bound);
  return Variable(std::move(t), /*requires_grad=*/true);
}

// Uniform with the variance 2/(in + out) of Glorot and Bengio, `in` and `out` being the extents of
// the matrix, or of each of a stack of them.
inline Variable XavierParameter(Context& ctx, const Shape& shape) {
  const int64_t in = shape[shape.rank() - 1], out = shape[shape.rank() - 2];
  const double bound = std::sqrt(6.0 / static_cast<double>(in + out));
  return UniformParameter(ctx, shape, static_cast<float>(bound));
}

inline Variable FullParameter(Context& ctx, const Shape& shape, double value) {
  return Variable(Tensor::Full(ctx, shape, value), /*requires_grad=*/true);
}

}  // namespace tessera::internal
#endif  // TESSERA_MODELS_LAYERS_PARAMETERS_H_
