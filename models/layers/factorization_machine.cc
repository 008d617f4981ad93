#include "models/layers/factorization_machine.h"

#include "models/layers/factorization_machine_rows.h"
#include "runtime/elementwise.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/kernels/row_lanes.h"
#include "runtime/ops/shaping.h"
#include "runtime/tensor.h"

namespace tessera {
namespace {

class FactorizationFunction final : public Function {
 public:
  FactorizationFunction(Tensor v, Tensor sums) : v_(std::move(v)), sums_(std::move(sums)) {}
  std::string_view name() const override { return "FactorizationMachine"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    Tensor dv = Tensor::Empty(ctx, v_.shape());
    internal::Elementwise(
        ctx, dv.numel(),
        internal::FactorizationSlope{v_.data<float>(), sums_.data<double>(), dy.data<float>(),
                                     dv.data<float>(), v_.dim(1)});
    return {dv};
  }

 private:
  Tensor v_, sums_;
};

}  // namespace

Variable JoinedRows(Context& ctx, const std::vector<Variable>& inputs) {
  TESSERA_CHECK(!inputs.empty(), "rows of no inputs");
  std::vector<Variable> rows;
  for (const Variable& x : inputs) {
    TESSERA_CHECK(x && x.rank() >= 1, "rows of an input without examples");
    const int64_t batch = x.dim(0);
    rows.push_back(
        x.rank() == 2 ? x : Reshape(ctx, x, {batch, batch == 0 ? 0 : x.value().numel() / batch}));
  }
  return rows.size() == 1 ? rows[0] : Concat(ctx, rows, 1);
}

Variable FactorizationMachine(Context& ctx, const Variable& v) {
  CheckDevice(ctx, "FactorizationMachine", v.value());
  const Tensor in = internal::AsMatrix(ctx, v, "FactorizationMachine: v").Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, {in.dim(0), 1}),
         sums = Tensor::Empty(ctx, {in.dim(0)}, DType::kF64);
  internal::Rowwise(ctx, in.dim(0),
                    internal::FactorizationRow{in.data<float>(), sums.data<double>(),
                                               y.data<float>(), in.dim(1)});
  return Record(ctx, std::make_unique<FactorizationFunction>(in, sums), {v}, y);
}

DeepFm::DeepFm(Context& ctx, int64_t in, const std::vector<int64_t>& sizes, MlpOptions options)
    : dense_module_(ctx, in, sizes, options) {}

Variable DeepFm::Forward(Context& ctx, const std::vector<Variable>& inputs) const {
  return dense_module_.Forward(ctx, JoinedRows(ctx, inputs));
}

void DeepFm::AppendParameters(const std::string& prefix, std::vector<NamedParameter>& out) const {
  dense_module_.AppendParameters(prefix + "dense_module.", out);
}

}  // namespace tessera
