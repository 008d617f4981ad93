#include "bench/train/mlp_products.h"

#include <cmath>

#include "runtime/base/check.h"
#include "runtime/ops/gemm.h"

namespace tessera::bench {

MlpProducts::MlpProducts(Context& ctx, const TrainConfig& config, int64_t batch) {
  const auto features = std::ssize(config.tables);
  const int64_t dim = config.model.dense_arch.back();
  AddLayers(ctx, config.model.dense_in, config.model.dense_arch, batch, true);
  AddLayers(ctx, dim + features * (features + 1) / 2, config.model.over_arch, batch, false);
}

void MlpProducts::AddLayers(Context& ctx, int64_t in, const std::vector<int64_t>& sizes,
                            int64_t batch, bool of_inputs) {
  for (const int64_t out : sizes) {
    layers_.push_back({Tensor::Full(ctx, {batch, in}, 0.5), Tensor::Full(ctx, {out, in}, 0.5),
                       Tensor::Full(ctx, {batch, out}, 0.5), of_inputs});
    of_inputs = false;
    in = out;
  }
}

int64_t MlpProducts::multiply_adds() const {
  int64_t sum = 0;
  for (const Layer& layer : layers_)
    sum += layer.x.numel() * layer.weight.dim(0) * (layer.first ? 2 : 3);
  return sum;
}

void MlpProducts::Check(Context& a, Context& b) const {
  const Layer& layer = layers_[1];
  const auto product = [&](Context& ctx) {
    return Gemm(ctx, GemmForm::kNT, layer.x, layer.weight).ToVector<float>();
  };
  const std::vector<float> x = product(a), y = product(b);
  for (size_t i = 0; i < x.size(); ++i)
    TESSERA_CHECK(std::abs(x[i] - y[i]) <= 1e-5f * std::abs(y[i]),
                  "element {} of a product is {} and {}", i, x[i], y[i]);
}

void MlpProducts::Run(Context& ctx) const {
  for (const Layer& layer : layers_) Gemm(ctx, GemmForm::kNT, layer.x, layer.weight);
  for (const Layer& layer : layers_) {
    if (!layer.first) Gemm(ctx, GemmForm::kNN, layer.dy, layer.weight);
    Gemm(ctx, GemmForm::kTN, layer.dy, layer.x);
  }
}

}  // namespace tessera::bench
