#include "bench/train/dense_products.h"

#include "runtime/ops/gemm.h"

namespace tessera::bench {

DenseProducts::DenseProducts(Context& ctx, const TrainConfig& config, int64_t batch) {
  const auto features = std::ssize(config.tables);
  const int64_t dim = config.model.dense_arch.back();
  AddLayers(ctx, config.model.dense_in, config.model.dense_arch, batch, true);
  AddLayers(ctx, dim + features * (features + 1) / 2, config.model.over_arch, batch, false);
}

void DenseProducts::AddLayers(Context& ctx, int64_t in, const std::vector<int64_t>& sizes,
                              int64_t batch, bool of_inputs) {
  for (const int64_t out : sizes) {
    layers_.push_back({Tensor::Full(ctx, {batch, in}, 0.5), Tensor::Full(ctx, {out, in}, 0.5),
                       Tensor::Full(ctx, {batch, out}, 0.5), of_inputs});
    of_inputs = false;
    in = out;
  }
}

void DenseProducts::Run(Context& ctx) const {
  for (const Layer& layer : layers_) Gemm(ctx, GemmForm::kNT, layer.x, layer.weight);
  for (const Layer& layer : layers_) {
    if (!layer.first) Gemm(ctx, GemmForm::kNN, layer.dy, layer.weight);
    Gemm(ctx, GemmForm::kTN, layer.dy, layer.x);
  }
}

}  // namespace tessera::bench
