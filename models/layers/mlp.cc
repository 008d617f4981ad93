#include "models/layers/mlp.h"

#include <cmath>

#include "models/layers/parameters.h"
#include "runtime/base/check.h"
#include "runtime/ops/activation.h"
#include "runtime/ops/linear.h"
#include "runtime/ops/norm.h"

namespace tessera {
namespace {

constexpr Activation kActivations[] = {Activation::kRelu, Activation::kSigmoid, Activation::kTanh,
                                       Activation::kSwish, Activation::kSwishLayerNorm};

}  // namespace

LinearLayer::LinearLayer(Context& ctx, int64_t in, int64_t out, bool bias) {
  TESSERA_CHECK(in > 0 && out > 0, "linear layer of {} inputs and {} outputs", in, out);
  const float bound = static_cast<float>(1 / std::sqrt(static_cast<double>(in)));
  weight_ = internal::UniformParameter(ctx, {out, in}, bound);
  if (bias) bias_ = internal::UniformParameter(ctx, {out}, bound);
}

Variable LinearLayer::Forward(Context& ctx, const Variable& x) const {
  return Linear(ctx, x, weight_, bias_);
}
Variable LinearLayer::ForwardRelu(Context& ctx, const Variable& x) const {
  return LinearRelu(ctx, x, weight_, bias_);
}

void LinearLayer::AppendParameters(const std::string& prefix,
                                   std::vector<NamedParameter>& out) const {
  out.push_back({prefix + "weight", weight_});
  if (bias_) out.push_back({prefix + "bias", bias_});
}

std::string ToString(Activation activation) {
  switch (activation) {
    case Activation::kRelu:
      return "relu";
    case Activation::kSigmoid:
      return "sigmoid";
    case Activation::kTanh:
      return "tanh";
    case Activation::kSwish:
      return "swish";
    case Activation::kSwishLayerNorm:
      return "swish_layernorm";
  }
  TESSERA_FAIL("unknown activation {}", static_cast<int>(activation));
}

Activation ParseActivation(const std::string& name) {
  std::string names;
  for (const Activation activation : kActivations) {
    if (name == ToString(activation)) return activation;
    names += (names.empty() ? "" : ", ") + ToString(activation);
  }
  TESSERA_FAIL("there is no activation \"{}\"; there are {}", name, names);
}

Variable Activate(Context& ctx, Activation activation, const Variable& x) {
  switch (activation) {
    case Activation::kRelu:
      return Relu(ctx, x);
    case Activation::kSigmoid:
      return Sigmoid(ctx, x);
    case Activation::kTanh:
      return Tanh(ctx, x);
    case Activation::kSwish:
      return Swish(ctx, x);
    case Activation::kSwishLayerNorm:
      break;
  }
  TESSERA_FAIL("activation {} has parameters of its own", ToString(activation));
}

LayerNormLayer::LayerNormLayer(Context& ctx, int64_t dim) {
  TESSERA_CHECK(dim > 0, "layer norm of {} columns", dim);
  weight_ = internal::FullParameter(ctx, {dim}, 1);
  bias_ = internal::FullParameter(ctx, {dim}, 0);
}

Variable LayerNormLayer::Forward(Context& ctx, const Variable& x) const {
  return LayerNorm(ctx, x, weight_, bias_);
}
Variable LayerNormLayer::ForwardSwish(Context& ctx, const Variable& x) const {
  return SwishLayerNorm(ctx, x, weight_, bias_);
}

void LayerNormLayer::AppendParameters(const std::string& prefix,
                                      std::vector<NamedParameter>& out) const {
  out.push_back({prefix + "weight", weight_});
  out.push_back({prefix + "bias", bias_});
}

Mlp::Mlp(Context& ctx, int64_t in, const std::vector<int64_t>& sizes, MlpOptions options)
    : in_(in), out_(in) {
  TESSERA_CHECK(!sizes.empty(), "MLP without layers");
  for (size_t i = 0; i < sizes.size(); ++i) {
    Layer layer{LinearLayer(ctx, out_, sizes[i], options.bias), {}, {}};
    out_ = sizes[i];
    if (i + 1 < sizes.size() || options.activation_on_last) layer.activation = options.activation;
    if (layer.activation == Activation::kSwishLayerNorm) layer.swish_norm.emplace(ctx, out_);
    layers_.push_back(std::move(layer));
  }
}

Variable Mlp::ForwardLayer(Context& ctx, const Layer& layer, const Variable& x) {
  if (!layer.activation) return layer.linear.Forward(ctx, x);
  if (*layer.activation == Activation::kRelu) return layer.linear.ForwardRelu(ctx, x);
  const Variable y = layer.linear.Forward(ctx, x);
  if (layer.swish_norm) return layer.swish_norm->Forward(ctx, y);
  return Activate(ctx, *layer.activation, y);
}

Variable Mlp::Forward(Context& ctx, const Variable& x) const {
  Variable y = x;
  for (const Layer& layer : layers_) y = ForwardLayer(ctx, layer, y);
  return y;
}

void Mlp::AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  for (size_t i = 0; i < layers_.size(); ++i) {
    const std::string layer = prefix + "_mlp." + std::to_string(i) + ".";
    layers_[i].linear.AppendParameters(layer + "_linear.", out);
    if (layers_[i].swish_norm)
      layers_[i].swish_norm->AppendParameters(layer + "_activation_fn.", out);
  }
}

}  // namespace tessera
