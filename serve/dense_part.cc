#include "serve/dense_part.h"

#include "runtime/ops/activation.h"

namespace tessera::serve {

DensePart::DensePart(Context& ctx, const ModelSpec& spec)
    : net_(MakeRankingNet(ctx, spec.net, std::ssize(spec.Reads()), spec.dim())) {
  for (const auto& [feature, length] : spec.net.position_weights)
    position_weights_[feature] = Variable(Tensor::Full(ctx, {length}, 1), /*requires_grad=*/true);
}

void DensePart::AppendParameters(const std::string& prefix,
                                 std::vector<NamedParameter>& out) const {
  for (const auto& [feature, weights] : position_weights_)
    out.push_back({prefix + kPositionWeightsPrefix + feature, weights});
  net_->AppendParameters(prefix, out);
}

Tensor DensePart::position_weights(const std::string& feature) const {
  const auto found = position_weights_.find(feature);
  return found == position_weights_.end() ? Tensor() : found->second.value();
}

Tensor DensePart::ClickProbabilities(Context& ctx, const Tensor& dense,
                                     const Tensor& pooled) const {
  const Variable outputs = net_->Forward(ctx, dense, pooled);
  return net_->gives_probabilities() ? outputs.value() : Sigmoid(ctx, outputs).value();
}

}  // namespace tessera::serve
