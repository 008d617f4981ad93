#include "models/deepfm_net.h"

#include "models/layers/factorization_machine.h"
#include "runtime/ops/shaping.h"

namespace tessera {
namespace {

std::optional<LinearLayer> MakeLayer(Context& ctx, bool wanted, int64_t in, int64_t out) {
  if (!wanted) return {};
  return LinearLayer(ctx, in, out);
}

}  // namespace

SimpleDeepFmNet::SimpleDeepFmNet(Context& ctx, const RankingNetConfig& config, int64_t num_features,
                                 int64_t dim)
    : lower_(MakeLayer(ctx, config.dense_in > 0, config.dense_in, config.hidden)),
      to_dim_(MakeLayer(ctx, config.dense_in > 0, config.hidden, dim)),
      deep_(ctx, (num_features + (lower_ ? 1 : 0)) * dim, config.deep_fm_dim),
      over_(ctx, (lower_ ? dim : 0) + config.deep_fm_dim + 1, config.num_tasks()) {}

Variable SimpleDeepFmNet::Forward(Context& ctx, const Variable& dense,
                                  const Variable& pooled) const {
  std::vector<Variable> v_parts = {pooled}, parts;
  if (lower_) {
    parts = {to_dim_->ForwardRelu(ctx, lower_->ForwardRelu(ctx, dense))};
    v_parts = {parts[0], pooled};
  }
  const Variable v = JoinedRows(ctx, v_parts);
  parts.push_back(deep_.ForwardRelu(ctx, v));
  parts.push_back(FactorizationMachine(ctx, v));
  return AsOutputs(ctx, over_.Forward(ctx, Concat(ctx, parts, 1)));
}

void SimpleDeepFmNet::AppendParameters(const std::string& prefix,
                                       std::vector<NamedParameter>& out) const {
  if (lower_) lower_->AppendParameters(prefix + "dense_arch.model.0.", out);
  if (to_dim_) to_dim_->AppendParameters(prefix + "dense_arch.model.2.", out);
  deep_.AppendParameters(prefix + "inter_arch.deep_fm.dense_module.0.", out);
  over_.AppendParameters(prefix + "over_arch.model.0.", out);
}

}  // namespace tessera
