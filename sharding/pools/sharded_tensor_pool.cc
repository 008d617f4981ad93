#include "sharding/pools/sharded_tensor_pool.h"

#include "sharding/pools/pool_rows_exchange.h"

namespace tessera {

using internal::PoolRowsExchange;

ShardedTensorPool::ShardedTensorPool(Context& ctx, Communicator& comm, int64_t pool_size,
                                     int64_t dim, DType dtype, EmbeddingLocation location)
    : comm_(comm),
      pool_size_(pool_size),
      local_(ctx, internal::LocalPoolRows(comm, pool_size), dim, dtype, location) {}

int64_t ShardedTensorPool::first_row() const { return internal::FirstPoolRow(comm_, pool_size_); }

Tensor ShardedTensorPool::Lookup(Context& ctx, const Tensor& ids) const {
  const PoolRowsExchange exchange(ctx, comm_, ids, pool_size_);
  return exchange.SendBack(ctx, local_.Lookup(ctx, exchange.local_ids()), "rows of a pool");
}

void ShardedTensorPool::Update(Context& ctx, const Tensor& ids, const Tensor& values) {
  const PoolRowsExchange exchange(ctx, comm_, ids, pool_size_, [&] {
    TESSERA_CHECK(values.shape() == Shape({ids.numel(), dim()}) && values.dtype() == dtype(),
                  "TensorPool: values {} {}; expected {} [{}, {}]", values.dtype(), values.shape(),
                  dtype(), ids.numel(), dim());
  });
  const Tensor rows = exchange.SendToOwners(ctx, values, "rows of a pool");
  local_.Update(ctx, exchange.local_ids(), rows);
}

}  // namespace tessera
