#ifndef TESSERA_SHARDING_POOLS_POOL_ROWS_EXCHANGE_H_
#define TESSERA_SHARDING_POOLS_POOL_ROWS_EXCHANGE_H_
// Ids to the ranks that own their rows, then rows one way or the other. Rank r owns rows
// [r·k, (r + 1)·k) of the pool, k = ⌈pool_size / R⌉.
//
//   Lookup   ids ->  owners, who read  -> rows, in the order of the ids
//   Update   ids and rows -> owners, who write: rank by rank, each rank's in its order
//
// Every rank makes the same calls. All wait for a device: counts have to be known.
#include <functional>
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "runtime/tensor.h"

namespace tessera::internal {

// k, at least 1; the first row of a rank's own part, and how many there are (the last ranks may
// have none). Throw Error for a negative size.
int64_t PoolBlock(const Communicator& comm, int64_t pool_size);
int64_t FirstPoolRow(const Communicator& comm, int64_t pool_size);
int64_t LocalPoolRows(const Communicator& comm, int64_t pool_size);

class PoolRowsExchange {
 public:
  // Sends the ids ([n], i32 or i64). Throws Error, on every rank, for one outside the pool, and for
  // what `check` throws, if given.
  PoolRowsExchange(Context& ctx, Communicator& comm, const Tensor& ids, int64_t pool_size,
                   const std::function<void()>& check = {});

  // Row numbers in this rank's part that all ranks ask for, i64, rank by rank.
  const Tensor& local_ids() const { return local_ids_; }
  // rows: one a local id -> one an id of this rank. Of any type and shape.
  Tensor SendBack(Context& ctx, const Tensor& rows, std::string_view what) const;
  // rows: one an id of this rank -> one a local id.
  Tensor SendToOwners(Context& ctx, const Tensor& rows, std::string_view what) const;

 private:
  Tensor Exchange(Context& ctx, const Tensor& rows, const std::vector<int64_t>& send,
                  const std::vector<int64_t>& receive, std::string_view what) const;

  Communicator& comm_;
  Tensor places_;                        // id j is sent as number places[j]
  std::vector<int64_t> send_, receive_;  // ids for, and from, each rank
  Tensor local_ids_;
};

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_POOLS_POOL_ROWS_EXCHANGE_H_
