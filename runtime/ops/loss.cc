#include "runtime/ops/loss.h"

#include "runtime/accumulation.h"
#include "runtime/elementwise.h"
#include "runtime/ops/arithmetic.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/kernels/chunked_sum.h"
#include "runtime/ops/kernels/loss_formulas.h"
#include "runtime/ops/kernels/row_lanes.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/norm.h"

namespace tessera {
namespace {

constexpr int64_t kGrain = 1024;

// The factor that makes a mean of a sum over the batch's items.
double OneOf(Context& ctx, int64_t items) {
  return 1.0 / static_cast<double>(internal::ItemsOfStep(ctx, items));
}

// mean_i w_i·loss(x_i, t_i).
template <typename Formula>
class ElementwiseLoss final : public Function {
 public:
  ElementwiseLoss(Tensor x, Tensor labels, Tensor weights)
      : x_(std::move(x)), labels_(std::move(labels)), weights_(std::move(weights)) {}
  std::string_view name() const override { return Formula::kName; }

  internal::LossTerm<Formula> Term() const {
    return {x_.data<float>(), labels_.data<float>(), weights_ ? weights_.data<float>() : nullptr};
  }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    Tensor dx = Tensor::Empty(ctx, x_.shape());
    const internal::LossSlope<Formula> slope = {Term(), grads[0].data<float>(), dx.data<float>(),
                                                internal::ItemsOfStep(ctx, dx.numel())};
    internal::Elementwise(ctx, dx.numel(), slope, kGrain);
    return {dx};
  }

 private:
  Tensor x_, labels_, weights_;
};

Tensor CheckedTarget(Context& ctx, const char* loss, const char* what, const Tensor& target,
                     const Shape& shape) {
  TESSERA_CHECK(target.defined(), "{}: {} are undefined", loss, what);
  TESSERA_CHECK_EQ(target.dtype(), DType::kF32, "{}: {}", loss, what);
  TESSERA_CHECK(target.shape() == shape, "{}: expected {} of shape {}, like the input's; got {}",
                loss, what, shape, target.shape());
  return target.Contiguous(ctx);
}

template <typename Formula>
Variable RunElementwise(Context& ctx, const Variable& input, const Tensor& labels,
                        const Tensor& weights) {
  TESSERA_CHECK(input && input.value().numel() > 0, "{} of an empty batch", Formula::kName);
  CheckDevice(ctx, Formula::kName, input, labels, weights);
  const Tensor x = input.value().Contiguous(ctx);
  const Tensor t = CheckedTarget(ctx, Formula::kName, "labels", labels, x.shape());
  const Tensor w =
      weights ? CheckedTarget(ctx, Formula::kName, "weights", weights, x.shape()) : Tensor();
  auto function = std::make_unique<ElementwiseLoss<Formula>>(x, t, w);
  Tensor loss = internal::ChunkedSum(ctx, x.numel(), function->Term(), OneOf(ctx, x.numel()));
  return Record(ctx, std::move(function), {input}, std::move(loss));
}

// Keeps softmax(logits) [B, C].
class SoftmaxCrossEntropyFunction final : public Function {
 public:
  SoftmaxCrossEntropyFunction(Tensor softmax, Tensor labels)
      : softmax_(std::move(softmax)), labels_(std::move(labels)) {}
  std::string_view name() const override { return "SoftmaxCrossEntropy"; }

  // Undefined labels mean each row's own number.
  static internal::ClassLabels LabelsOf(const Tensor& labels) {
    if (!labels) return {};
    return {labels.raw_data(), labels.dtype() == DType::kI64};
  }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    Tensor dx = Tensor::Empty(ctx, softmax_.shape());
    const internal::SoftmaxSlope slope = {
        softmax_.data<float>(), LabelsOf(labels_),      internal::ItemsOfStep(ctx, softmax_.dim(0)),
        softmax_.dim(1),        grads[0].data<float>(), dx.data<float>()};
    internal::Elementwise(ctx, dx.numel(), slope, kGrain);
    return {dx};
  }

 private:
  Tensor softmax_, labels_;
};

// Labels as i32 or i64. A CPU, which can look at them for nothing, checks that each is a class.
Tensor CheckedLabels(Context& ctx, const Tensor& labels, int64_t rows, int64_t classes) {
  TESSERA_CHECK(labels.defined() && IsInteger(labels.dtype()),
                "SoftmaxCrossEntropy: labels are not integers");
  TESSERA_CHECK_EQ(labels.shape(), (Shape{rows}), "SoftmaxCrossEntropy: labels");
  const Tensor values =
      (labels.dtype() == DType::kI32 ? labels : labels.To(ctx, DType::kI64)).Contiguous(ctx);
  if (values.device().type == DeviceType::kCuda) return values;
  const internal::ClassLabels all = SoftmaxCrossEntropyFunction::LabelsOf(values);
  for (int64_t i = 0; i < rows; ++i)
    TESSERA_CHECK(all[i] >= 0 && all[i] < classes,
                  "SoftmaxCrossEntropy: label {} of example {} is not in [0, {})", all[i], i,
                  classes);
  return values;
}

// `labels`: checked, or undefined for each row's own number as its label.
Variable RunSoftmaxCrossEntropy(Context& ctx, const Variable& logits, const Tensor& x,
                                const Tensor& labels) {
  const int64_t rows = x.dim(0);
  const Tensor softmax = Tensor::Empty(ctx, x.shape()),
               losses = Tensor::Empty(ctx, {rows}, DType::kF64);
  const internal::SoftmaxLossRow row = {x.data<float>(),
                                        SoftmaxCrossEntropyFunction::LabelsOf(labels), x.dim(1),
                                        softmax.data<float>(), losses.data<double>()};
  internal::Rowwise(ctx, rows, row, /*grain=*/16);
  Tensor loss = internal::ChunkedSum(ctx, rows, internal::NumbersOf<double>{losses.data<double>()},
                                     OneOf(ctx, rows));
  return Record(ctx, std::make_unique<SoftmaxCrossEntropyFunction>(softmax, labels), {logits},
                std::move(loss));
}

}  // namespace

Variable BceWithLogits(Context& ctx, const Variable& logits, const Tensor& labels,
                       const Tensor& weights) {
  return RunElementwise<internal::BceWithLogitsFormula>(ctx, logits, labels, weights);
}

Variable Bce(Context& ctx, const Variable& probabilities, const Tensor& labels,
             const Tensor& weights) {
  return RunElementwise<internal::BceFormula>(ctx, probabilities, labels, weights);
}

Variable Mse(Context& ctx, const Variable& x, const Tensor& labels, const Tensor& weights) {
  return RunElementwise<internal::MseFormula>(ctx, x, labels, weights);
}

Variable SoftmaxCrossEntropy(Context& ctx, const Variable& logits, const Tensor& labels) {
  CheckDevice(ctx, "SoftmaxCrossEntropy", logits, labels);
  const Tensor x = internal::AsMatrix(ctx, logits, "SoftmaxCrossEntropy: logits").Contiguous(ctx);
  TESSERA_CHECK(x.dim(0) > 0, "SoftmaxCrossEntropy of an empty batch");
  return RunSoftmaxCrossEntropy(ctx, logits, x, CheckedLabels(ctx, labels, x.dim(0), x.dim(1)));
}

Variable InBatchSoftmax(Context& ctx, const Variable& q, const Variable& c,
                        const InBatchSoftmaxOptions& options) {
  TESSERA_CHECK(options.temperature > 0, "InBatchSoftmax: temperature {}", options.temperature);
  TESSERA_CHECK(ctx.accumulation() == nullptr,
                "InBatchSoftmax beside gradient accumulation: the negatives of an example are the "
                "other examples of its micro-batch, not of the step");
  TESSERA_CHECK_EQ(q.value().shape(), c.value().shape(), "InBatchSoftmax");
  TESSERA_CHECK(q && q.rank() == 2 && q.dim(0) > 0, "InBatchSoftmax of a tensor {}",
                q.value().shape());
  const Variable left = options.normalize ? NormalizeRows(ctx, q, options.eps) : q;
  const Variable right = options.normalize ? NormalizeRows(ctx, c, options.eps) : c;
  const Variable scores =
      Scale(ctx, MatMul(ctx, left, right, /*transpose_b=*/true), 1.0f / options.temperature);
  return RunSoftmaxCrossEntropy(ctx, scores, scores.value(), /*labels=*/{});
}

}  // namespace tessera
