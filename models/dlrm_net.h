#ifndef TESSERA_MODELS_DLRM_NET_H_
#define TESSERA_MODELS_DLRM_NET_H_
// A DLRM's dense half (torchrec/models/dlrm.py): the dense features through an MLP to D numbers, an
// interaction of these with the pooled rows, an MLP to one logit. The interaction is dot products
// (DLRM), a cross net (DLRM_DCN) or projections (DLRM_Projection).
#include "models/layers/interaction.h"
#include "models/layers/over_arch.h"
#include "models/ranking_net.h"
#include "runtime/context.h"

namespace tessera {

// Parameters, in this order: "dense_arch.model._mlp.<i>._linear.…", "inter_arch.…",
// "over_arch.model.0._mlp.<i>._linear.…", "over_arch.model.1.…".
class DlrmNet final : public RankingNet {
 public:
  // REQUIRES: a checked configuration of a DLRM.
  DlrmNet(Context& ctx, const RankingNetConfig& config, int64_t num_features);

  Variable Forward(Context& ctx, const Variable& dense, const Variable& pooled) const override;
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  Mlp dense_arch_;
  std::unique_ptr<InteractionArch> inter_arch_;
  OverArch over_arch_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_DLRM_NET_H_
