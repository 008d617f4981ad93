#include "serve/dense_part.h"

#include "runtime/ops/activation.h"

namespace tessera::serve {

std::unique_ptr<RankingNet> MakeDensePart(Context& ctx, const ModelSpec& spec) {
  return MakeRankingNet(ctx, spec.net, std::ssize(spec.Reads()), spec.dim());
}

Tensor ClickProbabilities(Context& ctx, const RankingNet& net, const Tensor& dense,
                          const Tensor& pooled) {
  const Variable outputs = net.Forward(ctx, dense, pooled);
  return net.gives_probabilities() ? outputs.value() : Sigmoid(ctx, outputs).value();
}

}  // namespace tessera::serve
