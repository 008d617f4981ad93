#include "models/layers/cross_net.h"

#include "models/layers/parameters.h"
#include "runtime/base/check.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/linear.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/shaping.h"
#include "runtime/ops/similarity.h"
#include "runtime/ops/softmax.h"

namespace tessera {
namespace {

using internal::FullParameter;
using internal::XavierParameter;

void CheckSizes(const char* net, int64_t in, int64_t layers, int64_t low_rank = 1) {
  TESSERA_CHECK(in > 0 && layers > 0 && low_rank > 0,
                "{}: expected inputs, layers and a rank above 0, got {}, {} and {}", net, in,
                layers, low_rank);
}

// One a layer.
template <typename Make>
std::vector<Variable> OfLayers(int64_t layers, Make make) {
  std::vector<Variable> parameters;
  for (int64_t l = 0; l < layers; ++l) parameters.push_back(make());
  return parameters;
}

void Append(const std::string& name, const std::vector<Variable>& parameters,
            std::vector<NamedParameter>& out) {
  for (size_t l = 0; l < parameters.size(); ++l)
    out.push_back({name + "." + std::to_string(l), parameters[l]});
}

// A parameter [in, 1] as [in].
Variable AsVector(Context& ctx, const Variable& column) { return Reshape(ctx, column, {-1}); }

// Matrix i of a stack, for each i.
std::vector<Variable> MatricesOf(Context& ctx, const Variable& stack) {
  const std::vector<int64_t> ones(static_cast<size_t>(stack.dim(0)), 1);
  std::vector<Variable> matrices = Split(ctx, stack, 0, ones);
  for (Variable& m : matrices) m = Reshape(ctx, m, {stack.dim(1), stack.dim(2)});
  return matrices;
}

}  // namespace

CrossNet::CrossNet(Context& ctx, int64_t in, int64_t layers) {
  CheckSizes("cross net", in, layers);
  kernels_ = OfLayers(layers, [&] { return XavierParameter(ctx, {in, in}); });
  bias_ = OfLayers(layers, [&] { return FullParameter(ctx, {in, 1}, 0); });
}

Variable CrossNet::Forward(Context& ctx, const Variable& x0) const {
  Variable x = x0;
  for (size_t l = 0; l < kernels_.size(); ++l)
    x = MulAdd(ctx, x0, Linear(ctx, x, kernels_[l], AsVector(ctx, bias_[l])), x);
  return x;
}

void CrossNet::AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  Append(prefix + "kernels", kernels_, out);
  Append(prefix + "bias", bias_, out);
}

LowRankCrossNet::LowRankCrossNet(Context& ctx, int64_t in, int64_t layers, int64_t low_rank) {
  CheckSizes("low-rank cross net", in, layers, low_rank);
  w_kernels_ = OfLayers(layers, [&] { return XavierParameter(ctx, {in, low_rank}); });
  v_kernels_ = OfLayers(layers, [&] { return XavierParameter(ctx, {low_rank, in}); });
  bias_ = OfLayers(layers, [&] { return FullParameter(ctx, {in}, 0); });
}

Variable LowRankCrossNet::Forward(Context& ctx, const Variable& x0) const {
  Variable x = x0;
  for (size_t l = 0; l < w_kernels_.size(); ++l) {
    const Variable narrow = Linear(ctx, x, v_kernels_[l], {});
    x = MulAdd(ctx, x0, Linear(ctx, narrow, w_kernels_[l], bias_[l]), x);
  }
  return x;
}

void LowRankCrossNet::AppendParameters(const std::string& prefix,
                                       std::vector<NamedParameter>& out) const {
  Append(prefix + "W_kernels", w_kernels_, out);
  Append(prefix + "V_kernels", v_kernels_, out);
  Append(prefix + "bias", bias_, out);
}

VectorCrossNet::VectorCrossNet(Context& ctx, int64_t in, int64_t layers) {
  CheckSizes("vector cross net", in, layers);
  kernels_ = OfLayers(layers, [&] { return XavierParameter(ctx, {in, 1}); });
  bias_ = OfLayers(layers, [&] { return FullParameter(ctx, {in, 1}, 0); });
}

Variable VectorCrossNet::Forward(Context& ctx, const Variable& x0) const {
  Variable x = x0;
  for (size_t l = 0; l < kernels_.size(); ++l) {
    const Variable row = Reshape(ctx, kernels_[l], {1, -1});
    const Variable product = AsVector(ctx, Linear(ctx, x, row, {}));
    x = Add(ctx, ScaleRows(ctx, x0, product), AddBias(ctx, x, AsVector(ctx, bias_[l])));
  }
  return x;
}

void VectorCrossNet::AppendParameters(const std::string& prefix,
                                      std::vector<NamedParameter>& out) const {
  Append(prefix + "kernels", kernels_, out);
  Append(prefix + "bias", bias_, out);
}

LowRankMixtureCrossNet::LowRankMixtureCrossNet(Context& ctx, int64_t in, int64_t layers,
                                               MixtureOptions options)
    : in_(in), options_(options) {
  const int64_t experts = options.num_experts, r = options.low_rank;
  CheckSizes("low-rank mixture cross net", in, layers, r);
  TESSERA_CHECK(experts > 0, "low-rank mixture cross net of {} experts", experts);
  TESSERA_CHECK(options.activation != Activation::kSwishLayerNorm,
                "low-rank mixture cross net: activation swish_layernorm");
  u_kernels_ = OfLayers(layers, [&] { return XavierParameter(ctx, {experts, in, r}); });
  v_kernels_ = OfLayers(layers, [&] { return XavierParameter(ctx, {experts, r, in}); });
  bias_ = OfLayers(layers, [&] { return FullParameter(ctx, {in, 1}, 0); });
  for (int64_t i = 0; experts > 1 && i < experts; ++i) gates_.emplace_back(ctx, in, 1, false);
  c_kernels_ = OfLayers(layers, [&] { return XavierParameter(ctx, {experts, r, r}); });
}

Variable LowRankMixtureCrossNet::Experts(Context& ctx, size_t layer, const Variable& x) const {
  const std::vector<Variable> u = MatricesOf(ctx, u_kernels_[layer]),
                              v = MatricesOf(ctx, v_kernels_[layer]),
                              c = MatricesOf(ctx, c_kernels_[layer]);
  const Variable bias = AsVector(ctx, bias_[layer]);
  const auto activated = [&](const Variable& in, const Variable& kernel) {
    return Activate(ctx, options_.activation, Linear(ctx, in, kernel, {}));
  };
  std::vector<Variable> experts;
  for (size_t i = 0; i < u.size(); ++i)
    experts.push_back(Linear(ctx, activated(activated(x, v[i]), c[i]), u[i], bias));
  return experts.size() == 1 ? experts[0] : Concat(ctx, experts, 1);
}

// Σ_i p_i·x_0 ⊙ e_i = x_0 ⊙ Σ_i p_i·e_i.
Variable LowRankMixtureCrossNet::Forward(Context& ctx, const Variable& x0) const {
  const int64_t batch = x0.dim(0), count = options_.num_experts;
  Variable x = x0;
  for (size_t l = 0; l < u_kernels_.size(); ++l) {
    Variable mixed = Experts(ctx, l, x);
    if (count > 1) {
      std::vector<Variable> gates;
      for (const LinearLayer& gate : gates_) gates.push_back(gate.Forward(ctx, x));
      const Variable p = Softmax(ctx, Concat(ctx, gates, 1));
      mixed = BatchMatMul(ctx, Reshape(ctx, p, {batch, 1, count}),
                          Reshape(ctx, mixed, {batch, count, in_}));
      mixed = Reshape(ctx, mixed, {batch, in_});
    }
    x = MulAdd(ctx, x0, mixed, x);
  }
  return x;
}

void LowRankMixtureCrossNet::AppendParameters(const std::string& prefix,
                                              std::vector<NamedParameter>& out) const {
  Append(prefix + "U_kernels", u_kernels_, out);
  Append(prefix + "V_kernels", v_kernels_, out);
  Append(prefix + "bias", bias_, out);
  for (size_t i = 0; i < gates_.size(); ++i)
    gates_[i].AppendParameters(prefix + "gates." + std::to_string(i) + ".", out);
  Append(prefix + "C_kernels", c_kernels_, out);
}

}  // namespace tessera
