#include "models/dlrm_net.h"

#include "runtime/ops/shaping.h"

namespace tessera {
namespace {

std::unique_ptr<InteractionArch> MakeInteraction(Context& ctx, const RankingNetConfig& config,
                                                 int64_t features) {
  const int64_t dim = config.dense_arch.back();
  if (config.type == RankingModelType::kDlrmDcn)
    return std::make_unique<DcnInteraction>(ctx, features, dim, config.dcn_layers,
                                            config.dcn_low_rank);
  if (config.type == RankingModelType::kDlrmProjection)
    return std::make_unique<ProjectionInteraction>(ctx, features, dim, config.branch1,
                                                   config.branch2);
  return std::make_unique<DotInteractionArch>(features, dim);
}

}  // namespace

DlrmNet::DlrmNet(Context& ctx, const RankingNetConfig& config, int64_t num_features)
    : dense_arch_(ctx, config.dense_in, config.dense_arch),
      inter_arch_(MakeInteraction(ctx, config, num_features)),
      over_arch_(ctx, inter_arch_->out_size(), config.over_arch) {}

Variable DlrmNet::Forward(Context& ctx, const Variable& dense, const Variable& pooled) const {
  const Variable z = inter_arch_->Forward(ctx, dense_arch_.Forward(ctx, dense), pooled);
  return Reshape(ctx, over_arch_.Forward(ctx, z), {-1});
}

void DlrmNet::AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  dense_arch_.AppendParameters(prefix + "dense_arch.model.", out);
  inter_arch_->AppendParameters(prefix + "inter_arch.", out);
  over_arch_.AppendParameters(prefix + "over_arch.", out);
}

}  // namespace tessera
