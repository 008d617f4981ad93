#include "models/deepfm_net.h"

#include "models/layers/factorization_machine.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/shaping.h"

namespace tessera {

SimpleDeepFmNet::SimpleDeepFmNet(Context& ctx, const RankingNetConfig& config, int64_t num_features,
                                 int64_t dim)
    : lower_(ctx, config.dense_in, config.hidden),
      to_dim_(ctx, config.hidden, dim),
      deep_(ctx, (num_features + 1) * dim, config.deep_fm_dim),
      over_(ctx, dim + config.deep_fm_dim + 1, 1) {}

Variable SimpleDeepFmNet::Forward(Context& ctx, const Variable& dense,
                                  const Variable& pooled) const {
  const Variable d = to_dim_.ForwardRelu(ctx, lower_.ForwardRelu(ctx, dense));
  const Variable v = JoinedRows(ctx, {d, pooled});
  const Variable y = Concat(ctx, {d, deep_.ForwardRelu(ctx, v), FactorizationMachine(ctx, v)}, 1);
  return Reshape(ctx, Sigmoid(ctx, over_.Forward(ctx, y)), {-1});
}

void SimpleDeepFmNet::AppendParameters(const std::string& prefix,
                                       std::vector<NamedParameter>& out) const {
  lower_.AppendParameters(prefix + "dense_arch.model.0.", out);
  to_dim_.AppendParameters(prefix + "dense_arch.model.2.", out);
  deep_.AppendParameters(prefix + "inter_arch.deep_fm.dense_module.0.", out);
  over_.AppendParameters(prefix + "over_arch.model.0.", out);
}

}  // namespace tessera
