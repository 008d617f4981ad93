#include "sharding/pools/sharded_keyed_jagged_tensor_pool.h"

#include <utility>

#include "sharding/pools/pool_rows_exchange.h"

namespace tessera {
namespace {

// Calls `send` for each tensor of the rows.
template <typename Send>
BagRows Sent(const BagRows& rows, const Send& send) {
  return {send(rows.values, "values of a pool"), send(rows.lengths, "lengths of a pool"),
          rows.weights ? send(rows.weights, "weights of a pool") : Tensor()};
}

}  // namespace

using internal::PoolRowsExchange;

ShardedKeyedJaggedTensorPool::ShardedKeyedJaggedTensorPool(Context& ctx, Communicator& comm,
                                                           int64_t pool_size,
                                                           FeatureMaxLengths feature_max_lengths,
                                                           KeyedJaggedTensorPoolOptions options)
    : comm_(comm),
      pool_size_(pool_size),
      local_(ctx, internal::LocalPoolRows(comm, pool_size), std::move(feature_max_lengths),
             options) {}

int64_t ShardedKeyedJaggedTensorPool::first_row() const {
  return internal::FirstPoolRow(comm_, pool_size_);
}

KeyedJaggedTensor ShardedKeyedJaggedTensorPool::Lookup(Context& ctx, const Tensor& ids) const {
  const PoolRowsExchange exchange(ctx, comm_, ids, pool_size_);
  return local_.layout().Unpack(
      ctx, Sent(local_.LookupRows(ctx, exchange.local_ids()),
                [&](const Tensor& t, auto what) { return exchange.SendBack(ctx, t, what); }));
}

void ShardedKeyedJaggedTensorPool::Update(Context& ctx, const Tensor& ids,
                                          const KeyedJaggedTensor& values) {
  BagRows rows;
  const PoolRowsExchange exchange(ctx, comm_, ids, pool_size_, [&] {
    TESSERA_CHECK_EQ(values.stride(), ids.numel(), "KeyedJaggedTensorPool: examples, one an id");
    rows = local_.layout().Pack(ctx, values);
  });
  local_.UpdateRows(ctx, exchange.local_ids(), Sent(rows, [&](const Tensor& t, auto what) {
                      return exchange.SendToOwners(ctx, t, what);
                    }));
}

}  // namespace tessera
