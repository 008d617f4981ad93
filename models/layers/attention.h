#ifndef TESSERA_MODELS_LAYERS_ATTENTION_H_
#define TESSERA_MODELS_LAYERS_ATTENTION_H_
// Attention over sequences, as BERT4Rec has it: B sequences padded to L positions lie under each
// other, x [B·L, D], and lengths [B] (i64, where the context works) say how many positions of each
// count. Outputs of padding rows mean nothing, and influence no other row. No dropout.
#include <string>
#include <vector>

#include "models/layers/mlp.h"
#include "runtime/tensor.h"

namespace tessera {

// Each position asks all positions of its sequence, in both directions. Per head of dim D/H:
// softmax(q·kᵀ/√(D/H))·v, the heads side by side, then a linear layer. Parameters have the names of
// torch.nn.MultiheadAttention: "in_proj_weight" [3D, D], "in_proj_bias" [3D], "out_proj.weight",
// "out_proj.bias".
class MultiHeadAttention final : public Module {
 public:
  // REQUIRES: dim > 0; heads divide it.
  MultiHeadAttention(Context& ctx, int64_t dim, int64_t heads);

  Variable Forward(Context& ctx, const Variable& x, const Tensor& lengths) const;  // as x
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  int64_t dim_, heads_;
  Variable in_weight_, in_bias_;
  LinearLayer out_;
};

// x + attention(norm(x)), then y + W₂·ReLU(W₁·norm(y)). Parameters have the names of
// torch.nn.TransformerEncoderLayer with norm_first: "self_attn.…", "linear1.…", "linear2.…",
// "norm1.…", "norm2.…".
class TransformerBlock final : public Module {
 public:
  // REQUIRES: as MultiHeadAttention; hidden > 0.
  TransformerBlock(Context& ctx, int64_t dim, int64_t heads, int64_t hidden);

  Variable Forward(Context& ctx, const Variable& x, const Tensor& lengths) const;  // as x
  void AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const override;

 private:
  MultiHeadAttention self_attn_;
  LinearLayer linear1_, linear2_;
  LayerNormLayer norm1_, norm2_;
};

}  // namespace tessera
#endif  // TESSERA_MODELS_LAYERS_ATTENTION_H_
