#include "bench/lab/variant.h"

#include "runtime/base/check.h"

namespace tessera::bench {

std::string NotTaken(const Takes& takes, const Shape& shape) {
  if (!takes.any_dim && !IsBareDim(shape.dim)) return Format("--dim {}", shape.dim);
  if (!takes.any_type && !shape.all_f32()) return "types of 16 bits";
  if (!takes.weights && shape.weighted) return "--weighted yes";
  if (!takes.mean && shape.pooling == PoolingType::kMean) return "--mode mean";
  if (!takes.sequences && shape.pooling == PoolingType::kNone) return "--mode none";
  return "";
}

}  // namespace tessera::bench
