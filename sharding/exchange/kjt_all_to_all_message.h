#ifndef TESSERA_SHARDING_EXCHANGE_KJT_ALL_TO_ALL_MESSAGE_H_
#define TESSERA_SHARDING_EXCHANGE_KJT_ALL_TO_ALL_MESSAGE_H_
// Keys of a KeyedJaggedTensor between ranks: one exchange of counts, one of data.
//
//   message   lengths, values, weights (if any) of consecutive keys, as they lie in the
//             KeyedJaggedTensor; each part from an offset that 8 divides
//
// Strides travel with the counts.
#include <string>
#include <string_view>
#include <vector>

#include "comm/communicator.h"
#include "sparse/keyed_jagged_tensor.h"

namespace tessera::internal {

struct KjtExchange {
  const KeyedJaggedTensor* kjt = nullptr;  // what this rank sends; null: nothing
  std::vector<int64_t> key_splits = {};    // keys for each rank
  std::vector<std::string> keys = {};      // those that this rank gets
  std::vector<int> senders = {};           // the ranks that send, the same on all
  int64_t stagger = 1;                     // as in KeyedJaggedTensorDistArgs
  std::string_view what;
};

// Throws Error if senders differ in dtypes, in having weights or in having variable strides. Waits
// for a device: counts have to be known.
Awaitable<KeyedJaggedTensor> StartKjtExchange(Context& ctx, Communicator& comm,
                                              const KjtExchange& exchange);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_EXCHANGE_KJT_ALL_TO_ALL_MESSAGE_H_
