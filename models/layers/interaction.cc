#include "models/layers/interaction.h"

#include <utility>
#include <vector>

#include "models/layers/interaction_impl.h"
#include "runtime/device/dispatch.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/shaping.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

int64_t Features(const Tensor& dense, const Tensor& sparse) {
  TESSERA_CHECK_EQ(dense.dim(0), sparse.dim(0), "interaction: examples of dense {} and sparse {}",
                   dense.shape(), sparse.shape());
  TESSERA_CHECK(dense.dim(1) > 0 && sparse.dim(1) % dense.dim(1) == 0,
                "interaction: the sparse part {} is no multiple of the dense part {}",
                sparse.shape(), dense.shape());
  return sparse.dim(1) / dense.dim(1);
}

class DotInteractionFunction final : public Function {
 public:
  DotInteractionFunction(Tensor dense, Tensor sparse, int64_t features)
      : dense_(std::move(dense)), sparse_(std::move(sparse)), features_(features) {}
  std::string_view name() const override { return "DotInteraction"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    const Tensor ddense = Tensor::Empty(ctx, dense_.shape()),
                 dsparse = Tensor::Empty(ctx, sparse_.shape());
    const internal::InteractionGradArgs args = {
        dense_.data<float>(),  sparse_.data<float>(), dy.data<float>(),    ddense.data<float>(),
        dsparse.data<float>(), /*scratch=*/nullptr,   dy.dim(0),           features_,
        dense_.dim(1),         dense_.row_stride(),   sparse_.row_stride()};
    DispatchDevice(ctx.device(), [&](auto on) { internal::InteractionBackward(on, ctx, args); });
    return {ddense, dsparse};
  }

 private:
  Tensor dense_, sparse_;
  int64_t features_;
};

}  // namespace

Variable DotInteraction(Context& ctx, const Variable& dense, const Variable& sparse) {
  CheckDevice(ctx, "interaction", dense, sparse);
  const Tensor d = internal::AsMatrix(ctx, dense, "interaction: dense"),
               s = internal::AsMatrix(ctx, sparse, "interaction: sparse");
  const int64_t features = Features(d, s), dim = d.dim(1);
  if (features == 0) return dense;
  Tensor y = Tensor::Empty(ctx, {d.dim(0), dim + features * (features + 1) / 2});
  const internal::InteractionArgs args = {
      d.data<float>(),     s.data<float>(), y.data<float>(),
      /*scratch=*/nullptr, y.dim(0),        features,        dim, d.row_stride(), s.row_stride()};
  DispatchDevice(ctx.device(), [&](auto on) { internal::InteractionForward(on, ctx, args); });
  return Record(ctx, std::make_unique<DotInteractionFunction>(d, s, features), {dense, sparse}, y);
}

DcnInteraction::DcnInteraction(Context& ctx, int64_t num_features, int64_t dim, int64_t layers,
                               int64_t low_rank)
    : size_((num_features + 1) * dim), crossnet_(ctx, size_, layers, low_rank) {}

Variable DcnInteraction::Forward(Context& ctx, const Variable& dense,
                                 const Variable& sparse) const {
  return crossnet_.Forward(ctx, Concat(ctx, {dense, sparse}, 1));
}

void DcnInteraction::AppendParameters(const std::string& prefix,
                                      std::vector<NamedParameter>& out) const {
  crossnet_.AppendParameters(prefix + "crossnet.", out);
}

ProjectionInteraction::ProjectionInteraction(Context& ctx, int64_t num_features, int64_t dim,
                                             const std::vector<int64_t>& branch1,
                                             const std::vector<int64_t>& branch2)
    : dim_(dim),
      branch1_(ctx, (num_features + 1) * dim, branch1),
      branch2_(ctx, (num_features + 1) * dim, branch2) {
  TESSERA_CHECK(num_features >= 0 && dim > 0, "projection interaction of {} features of dim {}",
                num_features, dim);
  CheckBranches(branch1, branch2, dim);
}

void ProjectionInteraction::CheckBranches(const std::vector<int64_t>& branch1,
                                          const std::vector<int64_t>& branch2, int64_t dim) {
  for (const auto& [name, sizes] : {std::pair("branch1", &branch1), std::pair("branch2", &branch2)})
    TESSERA_CHECK(sizes->back() % dim == 0,
                  "{}: expected a last layer that is a multiple of {}, the dim of the tables, got "
                  "{}",
                  name, dim, sizes->back());
}

int64_t ProjectionInteraction::out_size() const {
  return dim_ + branch1_.out_size() / dim_ * (branch2_.out_size() / dim_);
}

Variable ProjectionInteraction::Forward(Context& ctx, const Variable& dense,
                                        const Variable& sparse) const {
  const Variable z = Concat(ctx, {dense, sparse}, 1);
  const int64_t batch = z.dim(0), p1 = branch1_.out_size() / dim_, p2 = branch2_.out_size() / dim_;
  const Variable a = Reshape(ctx, branch1_.Forward(ctx, z), {batch, p1, dim_});
  const Variable b = Reshape(ctx, branch2_.Forward(ctx, z), {batch, dim_, p2});
  return Concat(ctx, {dense, Reshape(ctx, BatchMatMul(ctx, a, b), {batch, p1 * p2})}, 1);
}

void ProjectionInteraction::AppendParameters(const std::string& prefix,
                                             std::vector<NamedParameter>& out) const {
  branch1_.AppendParameters(prefix + "interaction_branch1.model.", out);
  branch2_.AppendParameters(prefix + "interaction_branch2.model.", out);
}

}  // namespace tessera
