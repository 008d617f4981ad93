#include "sharding/pools/pool_rows_exchange.h"

#include <algorithm>
#include <numeric>

#include "comm/leader.h"
#include "embedding/lookup/row_access.h"
#include "sparse/ids/bucketize.h"
#include "sparse/ops/row_runs.h"

namespace tessera::internal {
namespace {

// Views of `rows` for each rank, one-dimensional.
std::vector<Tensor> Parts(const Tensor& rows, const std::vector<int64_t>& counts) {
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (const int64_t n : counts) {
    const Tensor part = rows.Rows(begin, begin + n);
    parts.push_back(part.Reshape({part.numel()}));
    begin += n;
  }
  return parts;
}

}  // namespace

int64_t PoolBlock(const Communicator& comm, int64_t pool_size) {
  TESSERA_CHECK_GE(pool_size, 0, "pool over ranks: pool_size");
  return std::max<int64_t>(1, (pool_size + comm.size() - 1) / comm.size());
}

int64_t FirstPoolRow(const Communicator& comm, int64_t pool_size) {
  return std::min(pool_size, comm.rank() * PoolBlock(comm, pool_size));
}

int64_t LocalPoolRows(const Communicator& comm, int64_t pool_size) {
  return std::min(PoolBlock(comm, pool_size), pool_size - FirstPoolRow(comm, pool_size));
}

PoolRowsExchange::PoolRowsExchange(Context& ctx, Communicator& comm, const Tensor& ids,
                                   int64_t pool_size, const std::function<void()>& check)
    : comm_(comm) {
  GatherResultsSync(comm, "ids of a pool", [&] {
    CheckRowIdsSync(ctx, "pool", ids, pool_size);
    if (check) check();
    return std::string();
  });
  const Bucketized buckets = BlockBucketizeSparseFeatures(
      ctx, {.lengths = Tensor::From<int64_t>(ctx, {ids.numel()}),
            .indices = ids.Contiguous(ctx).To(ctx, DType::kI64),
            .block_sizes = Tensor::From<int64_t>(ctx, {PoolBlock(comm, pool_size)}),
            .my_size = comm.size(),
            .sequence = true});
  places_ = buckets.unbucketize_permute;
  send_ = buckets.lengths.ToVector<int64_t>();
  std::vector<std::vector<int64_t>> counts;
  for (const int64_t n : send_) counts.push_back({n});
  for (const std::vector<int64_t>& n : comm.ExchangeNumbersSync(counts, "ids of a pool"))
    receive_.push_back(n[0]);
  local_ids_ = Exchange(ctx, buckets.indices, send_, receive_, "ids of a pool");
}

Tensor PoolRowsExchange::Exchange(Context& ctx, const Tensor& rows,
                                  const std::vector<int64_t>& send,
                                  const std::vector<int64_t>& receive,
                                  std::string_view what) const {
  const int64_t total = std::accumulate(receive.begin(), receive.end(), int64_t{0}),
                row = WithRows(rows, 1).numel();
  std::vector<int64_t> elements;
  for (const int64_t n : receive) elements.push_back(n * row);
  const std::vector<Tensor> parts = comm_.AllToAllV(ctx, Parts(rows, send), elements, what).Wait();
  const Tensor all = Tensor::Empty(ctx, WithRows(rows, total), rows.dtype());
  const std::vector<Tensor> places = Parts(all, receive);
  for (size_t r = 0; r < parts.size(); ++r) places[r].CopyFrom(ctx, parts[r]);
  return all;
}

Tensor PoolRowsExchange::SendBack(Context& ctx, const Tensor& rows, std::string_view what) const {
  return TakeRows(ctx, Exchange(ctx, rows, receive_, send_, what), places_);
}

Tensor PoolRowsExchange::SendToOwners(Context& ctx, const Tensor& rows,
                                      std::string_view what) const {
  return Exchange(ctx, PlaceRows(ctx, rows, places_), send_, receive_, what);
}

}  // namespace tessera::internal
