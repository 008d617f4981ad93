#include "models/layers/attention.h"

#include <cmath>

#include "models/layers/parameters.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/linear.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/shaping.h"
#include "runtime/ops/softmax.h"

namespace tessera {
namespace {

int64_t CheckedDim(int64_t dim, int64_t heads) {
  TESSERA_CHECK(dim > 0 && heads > 0 && dim % heads == 0,
                "attention: {} heads of {} columns: expected heads that divide them", heads, dim);
  return dim;
}

}  // namespace

MultiHeadAttention::MultiHeadAttention(Context& ctx, int64_t dim, int64_t heads)
    : dim_(CheckedDim(dim, heads)),
      heads_(heads),
      in_weight_(internal::XavierParameter(ctx, {3 * dim, dim})),
      in_bias_(internal::FullParameter(ctx, {3 * dim}, 0)),
      out_(ctx, dim, dim) {}

// A head is three blocks of columns; each is copied to be a stack of matrices.
Variable MultiHeadAttention::Forward(Context& ctx, const Variable& x, const Tensor& lengths) const {
  TESSERA_CHECK(x && x.rank() == 2 && x.dim(1) == dim_, "attention: x of shape {}, dim {}",
                x.value().shape(), dim_);
  const int64_t batch = lengths.dim(0), head = dim_ / heads_;
  TESSERA_CHECK(batch > 0 && x.dim(0) % batch == 0, "attention: {} rows of {} sequences", x.dim(0),
                batch);
  const Shape stack{batch, x.dim(0) / batch, head};
  const std::vector<Variable> blocks =
      Split(ctx, Linear(ctx, x, in_weight_, in_bias_), 1,
            std::vector<int64_t>(static_cast<size_t>(3 * heads_), head));
  const auto block = [&](int64_t i) { return Reshape(ctx, blocks[static_cast<size_t>(i)], stack); };
  const float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(head)));
  std::vector<Variable> results;
  for (int64_t h = 0; h < heads_; ++h) {
    const Variable scores = BatchMatMul(ctx, Scale(ctx, block(h), scale), block(heads_ + h),
                                        /*transpose_b=*/true);
    const Variable mixed = BatchMatMul(ctx, Softmax(ctx, scores, lengths), block(2 * heads_ + h));
    results.push_back(Reshape(ctx, mixed, {x.dim(0), head}));
  }
  return out_.Forward(ctx, heads_ == 1 ? results[0] : Concat(ctx, results, 1));
}

void MultiHeadAttention::AppendParameters(const std::string& prefix,
                                          std::vector<NamedParameter>& out) const {
  out.push_back({prefix + "in_proj_weight", in_weight_});
  out.push_back({prefix + "in_proj_bias", in_bias_});
  out_.AppendParameters(prefix + "out_proj.", out);
}

TransformerBlock::TransformerBlock(Context& ctx, int64_t dim, int64_t heads, int64_t hidden)
    : self_attn_(ctx, dim, heads),
      linear1_(ctx, dim, hidden),
      linear2_(ctx, hidden, dim),
      norm1_(ctx, dim),
      norm2_(ctx, dim) {}

Variable TransformerBlock::Forward(Context& ctx, const Variable& x, const Tensor& lengths) const {
  const Variable y = Add(ctx, x, self_attn_.Forward(ctx, norm1_.Forward(ctx, x), lengths));
  const Variable hidden = linear1_.ForwardRelu(ctx, norm2_.Forward(ctx, y));
  return Add(ctx, y, linear2_.Forward(ctx, hidden));
}

void TransformerBlock::AppendParameters(const std::string& prefix,
                                        std::vector<NamedParameter>& out) const {
  self_attn_.AppendParameters(prefix + "self_attn.", out);
  linear1_.AppendParameters(prefix + "linear1.", out);
  linear2_.AppendParameters(prefix + "linear2.", out);
  norm1_.AppendParameters(prefix + "norm1.", out);
  norm2_.AppendParameters(prefix + "norm2.", out);
}

}  // namespace tessera
