#ifndef TESSERA_SHARDING_EXCHANGE_INPUT_DIST_WEIGHTS_H_
#define TESSERA_SHARDING_EXCHANGE_INPUT_DIST_WEIGHTS_H_
// The way home of the gradients of per-sample weights that travelled with their ids.
#include <memory>

#include "runtime/autograd.h"
#include "sharding/exchange/input_dist.h"

namespace tessera::internal {

struct DistWeightsArgs {
  std::shared_ptr<const DistLayout> layout;
  Communicator* comm = nullptr;
  std::shared_ptr<const SentIds> sent;
  std::shared_ptr<const ReceivedIds> received;
  int64_t num_weights = 0;  // of the batch at home
};

// `received`, the weights of this rank's streams, as what `weights` became on their way.
Variable RecordDistWeights(Context& ctx, DistWeightsArgs args, const Variable& weights,
                           Tensor received);

}  // namespace tessera::internal
#endif  // TESSERA_SHARDING_EXCHANGE_INPUT_DIST_WEIGHTS_H_
