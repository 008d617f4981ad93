#ifndef TESSERA_SHARDING_POOLS_SHARDED_KEYED_JAGGED_TENSOR_POOL_H_
#define TESSERA_SHARDING_POOLS_SHARDED_KEYED_JAGGED_TENSOR_POOL_H_
// A KeyedJaggedTensorPool whose examples lie on several ranks, in blocks (TorchRec's class of this
// name, ROW_WISE). Every rank makes the same calls with ids of its own; the unused room of an
// example travels, too. Of an id that several ranks update in one call, the last rank's example
// counts.
#include "comm/communicator.h"
#include "embedding/pools/keyed_jagged_tensor_pool.h"
#include "runtime/tensor.h"

namespace tessera {

class ShardedKeyedJaggedTensorPool {
 public:
  // Rank r keeps examples [r·k, (r + 1)·k), k = ⌈pool_size / R⌉. `comm` outlives it. Throws
  // Error as KeyedJaggedTensorPool does.
  ShardedKeyedJaggedTensorPool(Context& ctx, Communicator& comm, int64_t pool_size,
                               FeatureMaxLengths feature_max_lengths,
                               KeyedJaggedTensorPoolOptions options = {});

  // These work like KeyedJaggedTensorPool's. Errors are thrown on all ranks.
  KeyedJaggedTensor Lookup(Context& ctx, const Tensor& ids) const;
  void Update(Context& ctx, const Tensor& ids, const KeyedJaggedTensor& values);

  int64_t pool_size() const { return pool_size_; }
  // This rank's examples, and which one of the pool is the first.
  KeyedJaggedTensorPool& local() { return local_; }
  int64_t first_row() const;

 private:
  Communicator& comm_;
  int64_t pool_size_;
  KeyedJaggedTensorPool local_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_POOLS_SHARDED_KEYED_JAGGED_TENSOR_POOL_H_
