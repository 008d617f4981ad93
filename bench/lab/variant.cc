#include "bench/lab/variant.h"

#include "runtime/base/check.h"

namespace tessera::bench {

std::string NotTaken(const Takes& takes, const Shape& shape) {
  for (size_t t = 0; t < shape.rows.size() && !takes.any_dim; ++t)
    if (!IsBareDim(shape.DimOf(t))) return Format("--dim {}", shape.DimOf(t));
  if (!takes.any_type && !shape.all_f32()) return "types of 16 bits";
  if (!takes.weights && shape.weighted) return "--weighted yes";
  if (!takes.mean && shape.pooling == PoolingType::kMean) return "--mode mean";
  if (!takes.sequences && shape.pooling == PoolingType::kNone) return "--mode none";
  return "";
}

}  // namespace tessera::bench
