#include "models/dlrm_net.h"

#include "runtime/ops/shaping.h"

namespace tessera {
namespace {

std::optional<Mlp> MakeDenseArch(Context& ctx, const RankingNetConfig& config) {
  if (config.dense_in == 0) return {};
  return Mlp(ctx, config.dense_in, config.dense_arch);
}

// Without dense features the first feature stands in their place.
std::unique_ptr<InteractionArch> MakeInteraction(Context& ctx, const RankingNetConfig& config,
                                                 int64_t features, int64_t dim) {
  CheckInteraction(config, features, dim);
  if (config.dense_in == 0) --features;
  if (config.type == RankingModelType::kDlrmDcn)
    return std::make_unique<DcnInteraction>(ctx, features, dim, config.dcn_layers,
                                            config.dcn_low_rank);
  if (config.type == RankingModelType::kDlrmProjection)
    return std::make_unique<ProjectionInteraction>(ctx, features, dim, config.branch1,
                                                   config.branch2);
  return std::make_unique<DotInteractionArch>(features, dim);
}

int64_t LeftOut(const RankingNetConfig& config, int64_t dim) {
  return config.dense_in > 0 || config.type == RankingModelType::kDlrmDcn ? 0 : dim;
}

}  // namespace

DlrmNet::DlrmNet(Context& ctx, const RankingNetConfig& config, int64_t num_features, int64_t dim)
    : dense_arch_(MakeDenseArch(ctx, config)),
      inter_arch_(MakeInteraction(ctx, config, num_features, dim)),
      dim_(dim),
      left_out_(LeftOut(config, dim)),
      over_arch_(ctx, inter_arch_->out_size() - left_out_, config.over_arch) {}

Variable DlrmNet::Interact(Context& ctx, const Variable& dense, const Variable& pooled) const {
  if (dense_arch_) return inter_arch_->Forward(ctx, dense_arch_->Forward(ctx, dense), pooled);
  const std::vector<Variable> parts = Split(ctx, pooled, 1, {dim_, pooled.dim(1) - dim_});
  const Variable z = inter_arch_->Forward(ctx, parts[0], parts[1]);
  return left_out_ == 0 ? z : Narrow(ctx, z, 1, left_out_, z.dim(1) - left_out_);
}

Variable DlrmNet::Forward(Context& ctx, const Variable& dense, const Variable& pooled) const {
  return AsOutputs(ctx, over_arch_.Forward(ctx, Interact(ctx, dense, pooled)));
}

void DlrmNet::AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  if (dense_arch_) dense_arch_->AppendParameters(prefix + "dense_arch.model.", out);
  inter_arch_->AppendParameters(prefix + "inter_arch.", out);
  over_arch_.AppendParameters(prefix + "over_arch.", out);
}

}  // namespace tessera
