#include "serve/dense_part.h"

#include "runtime/ops/activation.h"

namespace tessera::serve {

DensePart::DensePart(Context& ctx, const ModelSpec& spec)
    : position_weights_(MakePositionWeights(ctx, spec.net)),
      net_(MakeRankingNet(ctx, spec.net, std::ssize(spec.Reads()), spec.dim())) {}

void DensePart::AppendParameters(const std::string& prefix,
                                 std::vector<NamedParameter>& out) const {
  if (position_weights_)
    position_weights_->AppendParameters(prefix + kFeatureProcessorsPrefix, out);
  net_->AppendParameters(prefix, out);
}

Tensor DensePart::position_weights(const std::string& feature) const {
  if (!position_weights_ || !position_weights_->Has(feature)) return {};
  return position_weights_->position_weight(feature).value();
}

Tensor DensePart::ClickProbabilities(Context& ctx, const Tensor& dense,
                                     const Tensor& pooled) const {
  const Variable outputs = net_->Forward(ctx, dense, pooled);
  return net_->gives_probabilities() ? outputs.value() : Sigmoid(ctx, outputs).value();
}

}  // namespace tessera::serve
