#include "serve/dense_part.h"

#include "runtime/ops/gemm.h"

namespace tessera::serve {

DensePart::DensePart(Context& ctx, const ModelSpec& spec)
    : config_(spec.net),
      position_weights_(MakePositionWeights(ctx, spec.net)),
      net_(MakeRankingNet(ctx, spec.net, spec.PooledFeatures())) {}

void DensePart::AppendParameters(const std::string& prefix,
                                 std::vector<NamedParameter>& out) const {
  if (position_weights_)
    position_weights_->AppendParameters(prefix + kFeatureProcessorsPrefix, out);
  net_->AppendParameters(prefix, out);
}

void DensePart::KeepPacked(Context& ctx) {
  for (const NamedParameter& parameter : Parameters())
    if (parameter.variable.shape().rank() == 2)
      tessera::KeepPacked(ctx, parameter.variable.value());
}

Tensor DensePart::position_weights(const std::string& feature) const {
  if (!position_weights_ || !position_weights_->Has(feature)) return {};
  return position_weights_->position_weight(feature).value();
}

Tensor DensePart::Predict(Context& ctx, const Tensor& dense, const Tensor& pooled) const {
  return Predictions(ctx, config_, net_->Forward(ctx, dense, pooled)).value();
}

}  // namespace tessera::serve
