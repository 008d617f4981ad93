#ifndef TESSERA_MODELS_DLRM_NET_H_
#define TESSERA_MODELS_DLRM_NET_H_
// A DLRM's dense half (torchrec/models/dlrm.py): the dense features through an MLP to D numbers, an
// interaction of these with the pooled rows, an MLP to one logit, or one output a task. The
// interaction is dot products (DLRM), a cross net (DLRM_DCN) or projections (DLRM_Projection).
//
// Without dense features the interaction is that of the pooled rows alone: DLRM's output is the dot
// products, DLRM_Projection's the products of both branches.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/layers/interaction.h"
#include "models/layers/over_arch.h"
#include "models/ranking_net.h"
#include "runtime/context.h"

namespace tessera {

// Parameters, in this order: "dense_arch.model._mlp.<i>._linear.…", "inter_arch.…",
// "over_arch.model.0._mlp.<i>._linear.…", "over_arch.model.1.…".
class DlrmNet final : public RankingNet {
 public:
  // REQUIRES: a checked configuration of a DLRM. Throws Error for dot products of one feature.
  DlrmNet(Context& ctx, const RankingNetConfig& config, int64_t num_features, int64_t dim);

  Variable Forward(Context& ctx, const Variable& dense, const Variable& pooled) const override;
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  Variable Interact(Context& ctx, const Variable& dense, const Variable& pooled) const;

  std::optional<Mlp> dense_arch_;
  std::unique_ptr<InteractionArch> inter_arch_;
  int64_t dim_, left_out_;  // columns of the interaction's output that are only the first feature's
  OverArch over_arch_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_DLRM_NET_H_
