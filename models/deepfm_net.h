#ifndef TESSERA_MODELS_DEEPFM_NET_H_
#define TESSERA_MODELS_DEEPFM_NET_H_
// SimpleDeepFMNN's dense half (torchrec/models/deepfm.py): with d the dense features through two
// layers to D numbers and v = [d, pooled],
//
//   y = linear([d, ReLU(linear(v)), FM(v)])
//
// for each task, of which SimpleDeepFMNN takes the sigmoid. Without dense features there is no d.
#include <optional>
#include <string>
#include <vector>

#include "models/layers/mlp.h"
#include "models/ranking_net.h"
#include "runtime/context.h"

namespace tessera {

// Parameters, in this order: "dense_arch.model.{0,2}.…", "inter_arch.deep_fm.dense_module.0.…",
// "over_arch.model.0.…", each with weight and bias.
class SimpleDeepFmNet final : public RankingNet {
 public:
  // REQUIRES: a checked configuration of a DeepFM; dim > 0.
  SimpleDeepFmNet(Context& ctx, const RankingNetConfig& config, int64_t num_features, int64_t dim);

  Variable Forward(Context& ctx, const Variable& dense, const Variable& pooled) const override;
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  std::optional<LinearLayer> lower_, to_dim_;
  LinearLayer deep_, over_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_DEEPFM_NET_H_
