#ifndef TESSERA_MODELS_RANKING_NET_SIZE_H_
#define TESSERA_MODELS_RANKING_NET_SIZE_H_
// How large a RankingNet is, from its configuration alone. Doubles: what a configuration asks for
// may be of any size.
#include <vector>

#include "models/ranking_net_config.h"

namespace tessera {

struct RankingNetSize {
  double parameters = 0;   // numbers
  double activations = 0;  // numbers an example, of all layers' outputs
};

RankingNetSize SizeOfRankingNet(const RankingNetConfig& config,
                                const std::vector<PooledFeature>& features);

}  // namespace tessera
#endif  // TESSERA_MODELS_RANKING_NET_SIZE_H_
