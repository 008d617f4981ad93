#include "train/data/data_source.h"

#include "sparse/packed_copy.h"

namespace tessera {

Batch Batch::To(Context& ctx) const {
  if (labels.device() == ctx.device()) return *this;
  Batch there = *this;
  const std::vector<Tensor> moved = MovedTogether(ctx, {dense, labels}, ctx.device());
  there.dense = moved[0];
  there.labels = moved[1];
  there.features = features.To(ctx, ctx.device());
  return there;
}

}  // namespace tessera
