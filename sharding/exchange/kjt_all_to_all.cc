#include "sharding/exchange/kjt_all_to_all.h"

#include <numeric>
#include <utility>

#include "sharding/exchange/kjt_all_to_all_message.h"

namespace tessera {

KJTAllToAll::KJTAllToAll(Communicator& comm, std::vector<int64_t> key_splits, int64_t stagger)
    : comm_(comm), key_splits_(std::move(key_splits)), stagger_(stagger) {
  TESSERA_CHECK_EQ(static_cast<int64_t>(key_splits_.size()), comm.size(),
                   "KJTAllToAll: key splits, one a rank");
  TESSERA_CHECK(stagger >= 1 && comm.size() % stagger == 0,
                "KJTAllToAll: stagger {} does not divide {} ranks", stagger, comm.size());
}

Awaitable<KeyedJaggedTensor> KJTAllToAll::Start(Context& ctx, const KeyedJaggedTensor& kjt) const {
  TESSERA_CHECK_EQ(std::accumulate(key_splits_.begin(), key_splits_.end(), int64_t{0}),
                   kjt.num_keys(), "KJTAllToAll: sum of the key splits, and the keys");
  internal::KjtExchange exchange{.kjt = &kjt, .key_splits = key_splits_, .what = "KJTAllToAll"};
  exchange.stagger = stagger_;
  auto first = kjt.keys().begin();
  for (int r = 0; r < comm_.size(); ++r) {
    const int64_t n = key_splits_[static_cast<size_t>(r)];
    if (r == comm_.rank()) exchange.keys.assign(first, first + n);
    exchange.senders.push_back(r);
    first += n;
  }
  return internal::StartKjtExchange(ctx, comm_, exchange);
}

}  // namespace tessera
