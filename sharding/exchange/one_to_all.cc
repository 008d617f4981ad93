#include "sharding/exchange/one_to_all.h"

#include <numeric>
#include <utility>

#include "sharding/exchange/kjt_all_to_all_message.h"

namespace tessera {

KJTOneToAll::KJTOneToAll(Communicator& comm, std::vector<std::string> keys,
                         std::vector<int64_t> key_splits, int root)
    : comm_(comm), keys_(std::move(keys)), key_splits_(std::move(key_splits)), root_(root) {
  TESSERA_CHECK_EQ(static_cast<int64_t>(key_splits_.size()), comm.size(),
                   "KJTOneToAll: key splits, one a rank");
  TESSERA_CHECK(root >= 0 && root < comm.size(), "KJTOneToAll: root {} of {} ranks", root,
                comm.size());
  int64_t sum = 0;
  for (const int64_t n : key_splits_) {
    TESSERA_CHECK_GE(n, 0, "KJTOneToAll: keys for a rank");
    sum += n;
  }
  TESSERA_CHECK_EQ(sum, static_cast<int64_t>(keys_.size()),
                   "KJTOneToAll: sum of the key splits, and the keys");
}

Awaitable<KeyedJaggedTensor> KJTOneToAll::Start(Context& ctx, const KeyedJaggedTensor& kjt) const {
  const bool is_root = comm_.rank() == root_;
  TESSERA_CHECK(!is_root || kjt.keys() == keys_,
                "KJTOneToAll: the root's {} keys are not the {} that it was made for",
                kjt.num_keys(), keys_.size());
  const auto mine = key_splits_.begin() + comm_.rank();
  const auto first = keys_.begin() + std::accumulate(key_splits_.begin(), mine, int64_t{0});
  internal::KjtExchange exchange{.kjt = is_root ? &kjt : nullptr,
                                 .key_splits = key_splits_,
                                 .keys = {first, first + *mine},
                                 .senders = {root_},
                                 .what = "KJTOneToAll"};
  return internal::StartKjtExchange(ctx, comm_, exchange);
}

}  // namespace tessera
