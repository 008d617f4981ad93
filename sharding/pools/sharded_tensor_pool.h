#ifndef TESSERA_SHARDING_POOLS_SHARDED_TENSOR_POOL_H_
#define TESSERA_SHARDING_POOLS_SHARDED_TENSOR_POOL_H_
// A TensorPool whose rows lie on several ranks, in blocks (TorchRec's class of this name,
// ROW_WISE). Every rank makes the same calls with ids of its own. Of an id that several ranks
// update in one call, the last rank's row counts.
#include "comm/communicator.h"
#include "embedding/pools/tensor_pool.h"
#include "runtime/tensor.h"

namespace tessera {

class ShardedTensorPool {
 public:
  // Rank r keeps rows [r·k, (r + 1)·k), k = ⌈pool_size / R⌉, 0 at first. `comm` outlives it. Throws
  // Error as TensorPool does.
  ShardedTensorPool(Context& ctx, Communicator& comm, int64_t pool_size, int64_t dim,
                    DType dtype = DType::kF32,
                    EmbeddingLocation location = EmbeddingLocation::kDevice);

  // These work like TensorPool's. Errors are thrown on all ranks.
  Tensor Lookup(Context& ctx, const Tensor& ids) const;
  void Update(Context& ctx, const Tensor& ids, const Tensor& values);

  int64_t pool_size() const { return pool_size_; }
  int64_t dim() const { return local_.dim(); }
  DType dtype() const { return local_.dtype(); }
  // This rank's rows, and which row of the pool is the first.
  TensorPool& local() { return local_; }
  int64_t first_row() const;

 private:
  Communicator& comm_;
  int64_t pool_size_;
  TensorPool local_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_POOLS_SHARDED_TENSOR_POOL_H_
