#ifndef TESSERA_SHARDING_EXCHANGE_ONE_TO_ALL_H_
#define TESSERA_SHARDING_EXCHANGE_ONE_TO_ALL_H_
// Sends features from one rank to the ranks that look them up, as serving over several devices does
// where requests arrive at one of them. The way back is EmbeddingsAllToOne
// (embeddings_all_to_all.h).
#include <string>
#include <vector>

#include "comm/communicator.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera {

class KJTOneToAll {
 public:
  // keys: all of them, of which the first key_splits[0] go to rank 0, the next key_splits[1] to
  // rank 1, and so on; the same on all ranks.
  KJTOneToAll(Communicator& comm, std::vector<std::string> keys, std::vector<int64_t> key_splits,
              int root = 0);

  // Every rank calls; the kjt of the root is the one that counts, and has the keys in their order.
  // Every rank gets its keys with the root's bags. Inverse indices stay behind. Weights' gradients
  // travel back, as in KJTAllToAll. Waits for a device.
  Awaitable<KeyedJaggedTensor> Start(Context& ctx, const KeyedJaggedTensor& kjt) const;

 private:
  Communicator& comm_;
  std::vector<std::string> keys_;
  std::vector<int64_t> key_splits_;
  int root_;
};

}  // namespace tessera
#endif  // TESSERA_SHARDING_EXCHANGE_ONE_TO_ALL_H_
