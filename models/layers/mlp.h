#ifndef TESSERA_MODELS_LAYERS_MLP_H_
#define TESSERA_MODELS_LAYERS_MLP_H_
// Linear layers and stacks of them (torchrec/modules/mlp.py).
#include <optional>
#include <string>
#include <vector>

#include "models/layers/module.h"
#include "runtime/context.h"

namespace tessera {

// y = x·Wᵀ + b. Parameters "weight" [out, in] and, with bias, "bias" [out], both uniform in ±1/√in
// as torch.nn.Linear's.
class LinearLayer final : public Module {
 public:
  // REQUIRES: in > 0, out > 0.
  LinearLayer(Context& ctx, int64_t in, int64_t out, bool bias = true);

  Variable Forward(Context& ctx, const Variable& x) const;      // [B, in] -> [B, out]
  Variable ForwardRelu(Context& ctx, const Variable& x) const;  // max(Forward, 0), fused
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  Variable weight_, bias_;
};

enum class Activation { kRelu, kSigmoid, kTanh, kSwish, kSwishLayerNorm };
std::string ToString(
    Activation activation);  // "relu", "sigmoid", "tanh", "swish", "swish_layernorm"
// The inverse. Throws Error for another name, listing those there are.
Activation ParseActivation(const std::string& name);

// Applies an activation to x of any shape. REQUIRES: an activation without parameters, i.e. not
// kSwishLayerNorm.
Variable Activate(Context& ctx, Activation activation, const Variable& x);

// LayerNorm over the last dimension. Parameters "weight" [dim], ones, and "bias" [dim], zeros.
class LayerNormLayer final : public Module {
 public:
  // REQUIRES: dim > 0.
  LayerNormLayer(Context& ctx, int64_t dim);

  // [..., dim] -> the same shape.
  Variable Forward(Context& ctx, const Variable& x) const;
  // x·sigmoid(Forward(x)).
  Variable ForwardSwish(Context& ctx, const Variable& x) const;
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  Variable weight_, bias_;
};

// x·sigmoid(LayerNorm(x)) (torchrec/modules/activation.py). Parameters "norm.0.weight" and
// "norm.0.bias".
class SwishLayerNormLayer final : public Module {
 public:
  // REQUIRES: dim > 0.
  SwishLayerNormLayer(Context& ctx, int64_t dim) : norm_(ctx, dim) {}

  Variable Forward(Context& ctx, const Variable& x) const { return norm_.ForwardSwish(ctx, x); }
  void AppendParameters(const std::string& prefix,
                        std::vector<NamedParameter>& out) const override {
    norm_.AppendParameters(prefix + "norm.0.", out);
  }

 private:
  LayerNormLayer norm_;
};

struct MlpOptions {
  bool bias = true;
  Activation activation = Activation::kRelu;
  bool activation_on_last = true;
};

// Linear layers with an activation after each. Parameters "_mlp.<i>._linear.weight", "….bias", and
// for swish_layernorm "_mlp.<i>._activation_fn.norm.0.weight" (ones) and "….bias" (zeros).
class Mlp final : public Module {
 public:
  // REQUIRES: at least one layer, all sizes above 0.
  Mlp(Context& ctx, int64_t in, const std::vector<int64_t>& sizes, MlpOptions options = {});

  Variable Forward(Context& ctx, const Variable& x) const;  // [B, in] -> [B, sizes.back()]
  int64_t in_size() const { return in_; }
  int64_t out_size() const { return out_; }
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  struct Layer {
    LinearLayer linear;
    std::optional<Activation> activation;
    std::optional<SwishLayerNormLayer> swish_norm;  // swish_layernorm
  };
  static Variable ForwardLayer(Context& ctx, const Layer& layer, const Variable& x);

  int64_t in_, out_;
  std::vector<Layer> layers_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_LAYERS_MLP_H_
