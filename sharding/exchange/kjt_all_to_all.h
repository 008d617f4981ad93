#ifndef TESSERA_SHARDING_EXCHANGE_KJT_ALL_TO_ALL_H_
#define TESSERA_SHARDING_EXCHANGE_KJT_ALL_TO_ALL_H_
// Sends features to the ranks that look them up, in TorchRec's order: keys 0 … splits[0]-1 go to
// rank 0, the next splits[1] to rank 1, and so on. What a rank gets are its keys with the bags of
// all ranks, rank after rank; with a stagger s, in the order x + (R/s)·y, x outer (local rank major
// for s hosts). Sharded collections have a way of their own (input_dist.h); this is for modules
// outside the library.
//
// Batches may differ from rank to rank, and from key to key. Gradients of weights travel back
// unscaled; for them, every rank must record a tape, and its loss must depend on the weights that
// it received.
#include <vector>

#include "comm/communicator.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

class KJTAllToAll {
 public:
  // key_splits: keys for each rank, the same on all. REQUIRES: stagger divides the ranks.
  KJTAllToAll(Communicator& comm, std::vector<int64_t> key_splits, int64_t stagger = 1);

  // Every rank calls, with the same keys. Inverse indices stay behind. Throws Error if the splits
  // do not sum to the keys, or if ranks differ in dtypes, in weights or in variable strides. Waits
  // for a device: counts have to be known.
  Awaitable<KeyedJaggedTensor> Start(Context& ctx, const KeyedJaggedTensor& kjt) const;

 private:
  Communicator& comm_;
  std::vector<int64_t> key_splits_;
  int64_t stagger_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_KJT_ALL_TO_ALL_H_
