#ifndef TESSERA_MODELS_LAYERS_CROSS_NET_H_
#define TESSERA_MODELS_LAYERS_CROSS_NET_H_
// Cross networks (torchrec/modules/crossnet.py): polynomials of the features of an example. Layer l
// makes, from its input x_l and the first layer's x_0, both [B, in]:
//
//   CrossNet                 x_0 ⊙ (W_l·x_l + b_l) + x_l
//   LowRankCrossNet          x_0 ⊙ (W_l·(V_l·x_l) + b_l) + x_l
//   VectorCrossNet           x_0·(w_l·x_l) + b_l + x_l
//   LowRankMixtureCrossNet   Σ_i p_i·x_0 ⊙ (U_li·σ(C_li·σ(V_li·x_l)) + b_l) + x_l, where p is the
//                            softmax of the gates g_i·x_l, which all layers share
//
// Matrices start uniform with Xavier's variance (TorchRec: normal with the same), biases at 0. All
// REQUIRE in > 0, layers > 0 and, where there is one, a rank above 0.
#include <string>
#include <vector>

#include "models/layers/mlp.h"
#include "runtime/context.h"

namespace tessera {

// Parameters "kernels.<l>" [in, in], "bias.<l>" [in, 1].
class CrossNet final : public Module {
 public:
  CrossNet(Context& ctx, int64_t in, int64_t layers);
  Variable Forward(Context& ctx, const Variable& x) const;  // [B, in] -> [B, in]
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  std::vector<Variable> kernels_, bias_;
};

// Parameters "W_kernels.<l>" [in, low_rank], "V_kernels.<l>" [low_rank, in], "bias.<l>" [in].
class LowRankCrossNet final : public Module {
 public:
  LowRankCrossNet(Context& ctx, int64_t in, int64_t layers, int64_t low_rank = 1);
  Variable Forward(Context& ctx, const Variable& x) const;  // [B, in] -> [B, in]
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  std::vector<Variable> w_kernels_, v_kernels_, bias_;
};

// Parameters "kernels.<l>" [in, 1], "bias.<l>" [in, 1].
class VectorCrossNet final : public Module {
 public:
  VectorCrossNet(Context& ctx, int64_t in, int64_t layers);
  Variable Forward(Context& ctx, const Variable& x) const;  // [B, in] -> [B, in]
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  std::vector<Variable> kernels_, bias_;
};

struct MixtureOptions {
  int64_t num_experts = 1, low_rank = 1;
  Activation activation = Activation::kRelu;  // σ; not kSwishLayerNorm
};

// Parameters "U_kernels.<l>" [experts, in, r], "V_kernels.<l>" [experts, r, in], "bias.<l>" [in,
// 1], "gates.<i>.weight" [1, in], "C_kernels.<l>" [experts, r, r]. With one expert p is 1 and there
// are no gates.
class LowRankMixtureCrossNet final : public Module {
 public:
  // REQUIRES: at least one expert.
  LowRankMixtureCrossNet(Context& ctx, int64_t in, int64_t layers, MixtureOptions options = {});
  Variable Forward(Context& ctx, const Variable& x) const;  // [B, in] -> [B, in]
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  // U_li·σ(C_li·σ(V_li·x)) + b_l of each expert, side by side: [B, experts·in].
  Variable Experts(Context& ctx, size_t layer, const Variable& x) const;

  int64_t in_;
  MixtureOptions options_;
  std::vector<Variable> u_kernels_, v_kernels_, c_kernels_, bias_;
  std::vector<LinearLayer> gates_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_LAYERS_CROSS_NET_H_
