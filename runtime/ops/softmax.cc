#include "runtime/ops/softmax.h"

#include "runtime/ops/kernels/row_lanes.h"
#include "runtime/ops/kernels/softmax_formulas.h"

namespace tessera {
namespace {

constexpr int64_t kGrain = 16;

class SoftmaxFunction final : public Function {
 public:
  SoftmaxFunction(Tensor y, int64_t rows) : y_(std::move(y)), rows_(rows) {}
  std::string_view name() const override { return "Softmax"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    Tensor dx = Tensor::Empty(ctx, y_.shape());
    internal::Rowwise(
        ctx, rows_,
        internal::SoftmaxGradRow{y_.data<float>(), dy.data<float>(), dx.data<float>(), y_.dim(-1)},
        kGrain);
    return {dx};
  }

 private:
  Tensor y_;
  int64_t rows_;
};

internal::RowLengths CheckedLengths(const Tensor& lengths, int64_t rows, int64_t columns) {
  if (!lengths.defined()) return {nullptr, 1, columns};
  TESSERA_CHECK_EQ(lengths.dtype(), DType::kI64, "Softmax: lengths");
  TESSERA_CHECK(lengths.rank() == 1 && lengths.is_contiguous(), "Softmax: lengths of shape {}",
                lengths.shape());
  const int64_t groups = lengths.dim(0);
  TESSERA_CHECK(groups == 0 ? rows == 0 : rows % groups == 0, "Softmax: {} lengths for {} rows",
                groups, rows);
  if (lengths.device().type == DeviceType::kCpu)
    for (const int64_t n : lengths.span<int64_t>())
      TESSERA_CHECK(n >= 0 && n <= columns, "Softmax: length {} of rows of {}", n, columns);
  return {lengths.data<int64_t>(), groups == 0 ? 1 : rows / groups, columns};
}

}  // namespace

Variable Softmax(Context& ctx, const Variable& x, const Tensor& lengths) {
  if (!x) throw Error("Softmax: the input is undefined");
  TESSERA_CHECK(x.rank() >= 1 && x.dim(-1) > 0 && x.value().dtype() == DType::kF32,
                "Softmax of a tensor {}", x.value().shape());
  CheckDevice(ctx, "Softmax", x.value(), lengths);
  const Tensor in = x.value().Contiguous(ctx);
  const int64_t columns = in.dim(-1), rows = in.numel() / columns;
  Tensor y = Tensor::Empty(ctx, in.shape());
  internal::Rowwise(ctx, rows,
                    internal::SoftmaxRow{in.data<float>(), CheckedLengths(lengths, rows, columns),
                                         y.data<float>()},
                    kGrain);
  return Record(ctx, std::make_unique<SoftmaxFunction>(y, rows), {x}, y);
}

}  // namespace tessera
