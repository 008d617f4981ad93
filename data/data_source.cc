#include "data/data_source.h"

#include "sparse/ops/packed_copy.h"

namespace tessera {

Batch Batch::To(Context& ctx) const {
  if ((labels ? labels : dense).device() == ctx.device()) return *this;
  Batch there = *this;
  std::vector<Tensor*> parts;
  for (Tensor* part : {&there.dense, &there.labels, &there.weights, &there.time})
    if (*part) parts.push_back(part);
  std::vector<Tensor> tensors;
  for (const Tensor* part : parts) tensors.push_back(*part);
  const std::vector<Tensor> moved = MovedTogether(ctx, tensors, ctx.device());
  for (size_t i = 0; i < parts.size(); ++i) *parts[i] = moved[i];
  there.features = features.To(ctx, ctx.device());
  return there;
}

}  // namespace tessera
