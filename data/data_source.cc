#include "data/data_source.h"

#include "sparse/ops/packed_copy.h"

namespace tessera {

Batch Batch::To(Context& ctx) const {
  if (labels.device() == ctx.device()) return *this;
  Batch there = *this;
  std::vector<Tensor> tensors = {dense, labels};
  if (weights) tensors.push_back(weights);
  const std::vector<Tensor> moved = MovedTogether(ctx, tensors, ctx.device());
  there.dense = moved[0];
  there.labels = moved[1];
  if (weights) there.weights = moved[2];
  there.features = features.To(ctx, ctx.device());
  return there;
}

}  // namespace tessera
