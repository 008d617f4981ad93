#include "embedding/managed_collision/managed_collision_module.h"

#include <algorithm>

namespace tessera {

std::vector<Tensor> ManagedCollisionModule::Forward(Context& ctx, std::span<const Tensor> ids,
                                                    bool training) {
  TESSERA_CHECK(ctx.device() == Device::Cpu(),
                "managed collision on {}: ids are remapped on the CPU only; remap them there and "
                "move what comes out",
                ctx.device());
  std::vector<Tensor> contiguous;
  for (const Tensor& feature : ids) {
    CheckDevice(ctx, "managed collision", feature);
    TESSERA_CHECK_EQ(feature.rank(), 1, "managed collision: rank of the ids");
    TESSERA_CHECK(feature.dtype() == DType::kI64 || feature.dtype() == DType::kI32,
                  "managed collision: ids of type {}; expected i32 or i64", feature.dtype());
    contiguous.push_back(feature.Contiguous(ctx));
  }
  return Map(ctx, contiguous, training);
}

Tensor ManagedCollisionModule::Evict(Context& ctx) {
  std::sort(evicted_.begin(), evicted_.end());
  evicted_.erase(std::unique(evicted_.begin(), evicted_.end()), evicted_.end());
  Tensor rows = Tensor::From(ctx, evicted_);
  evicted_.clear();
  return rows;
}

}  // namespace tessera
