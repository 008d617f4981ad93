#include "embedding/pools/tensor_pool.h"

#include <utility>

#include "embedding/lookup/row_access.h"
#include "sparse/ops/naming_op.h"
#include "sparse/ops/row_runs.h"

namespace tessera {

TensorPool::TensorPool(Context& ctx, int64_t pool_size, int64_t dim, DType dtype,
                       EmbeddingLocation location) {
  TESSERA_CHECK(pool_size >= 0 && dim >= 0, "TensorPool: {} rows of {} elements", pool_size, dim);
  TESSERA_CHECK(!IsCached(location), "TensorPool: location {}; a pool has no cache of rows",
                ToString(location));
  pool_ = ZerosAt(ctx, location, {pool_size, dim}, dtype);
}

TensorPool::TensorPool(Tensor pool) : pool_(std::move(pool)) {
  TESSERA_CHECK(pool_.rank() == 2 && pool_.is_contiguous(),
                "TensorPool: rows of shape {}; expected [pool_size, dim], contiguous",
                pool_.shape());
}

Tensor TensorPool::Lookup(Context& ctx, const Tensor& ids) const {
  CheckRowIdsSync(ctx, "TensorPool", ids, pool_size());
  return TakeRows(ctx, pool_, ids);
}

void TensorPool::Update(Context& ctx, const Tensor& ids, const Tensor& values) {
  internal::NamingOp("TensorPool::Update", [&] {
    const Shape expected = {ids.numel(), dim()};
    if (values.shape() != expected || values.dtype() != pool_.dtype())
      throw Error(Format("values {} of {}; expected {} of {}", values.shape(), values.dtype(),
                         expected, pool_.dtype()));
    PutRows(ctx, pool_, ids, values);
  });
}

std::vector<NamedTensor> TensorPool::StateDict(Context& ctx, const std::string& prefix) const {
  return {{prefix + "_pool", pool_.Clone(ctx)}};
}

void TensorPool::LoadStateDict(Context& ctx, const std::vector<NamedTensor>& tensors,
                               const std::string& prefix) {
  TESSERA_CHECK(tensors.size() == 1 && tensors[0].name == prefix + "_pool",
                "TensorPool: expected one tensor, {}_pool", prefix);
  pool_.CopyFrom(ctx, tensors[0].tensor);
}

}  // namespace tessera
