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

// The factor that makes a mean of a sum over the batch's items, or the one that `over` asks for.
internal::SumFactor FactorOf(Context& ctx, const LossOver& over, int64_t items) {
  if (over.total) return {over.factor, over.total.data<float>()};
  return {1.0 / static_cast<double>(internal::ItemsOfStep(ctx, items))};
}
internal::LossScale ScaleOf(Context& ctx, const LossOver& over, int64_t items) {
  if (over.total) return {items, FactorOf(ctx, over, items)};
  return {internal::ItemsOfStep(ctx, items), {}};
}

// mean_i w_i·loss(x_i, t_i).
template <typename Formula>
class ElementwiseLoss final : public Function {
 public:
  ElementwiseLoss(Tensor x, Tensor labels, Tensor weights, LossOver over)
      : x_(std::move(x)),
        labels_(std::move(labels)),
        weights_(std::move(weights)),
        over_(std::move(over)) {}
  std::string_view name() const override { return Formula::kName; }

  internal::LossTerm<Formula> Term() const {
    return {x_.data<float>(), labels_.data<float>(), weights_ ? weights_.data<float>() : nullptr};
  }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    Tensor dx = Tensor::Empty(ctx, x_.shape());
    const internal::LossSlope<Formula> slope = {Term(), grads[0].data<float>(), dx.data<float>(),
                                                ScaleOf(ctx, over_, dx.numel())};
    internal::Elementwise(ctx, dx.numel(), slope, kGrain);
    return {dx};
  }

 private:
  Tensor x_, labels_, weights_;
  LossOver over_;
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
                        const Tensor& weights, const LossOver& over) {
  if (!input) throw Error(Format("{}: the input is undefined", Formula::kName));
  TESSERA_CHECK(over.total || input.value().numel() > 0, "{} of an empty batch", Formula::kName);
  CheckDevice(ctx, Formula::kName, input, labels, weights);
  const Tensor x = input.value().Contiguous(ctx);
  const Tensor t = CheckedTarget(ctx, Formula::kName, "labels", labels, x.shape());
  const Tensor w =
      weights ? CheckedTarget(ctx, Formula::kName, "weights", weights, x.shape()) : Tensor();
  auto function = std::make_unique<ElementwiseLoss<Formula>>(x, t, w, over);
  Tensor loss =
      internal::ChunkedSum(ctx, x.numel(), function->Term(), FactorOf(ctx, over, x.numel()));
  return Record(ctx, std::move(function), {input}, std::move(loss));
}

// Keeps softmax(logits) [B, C].
class SoftmaxCrossEntropyFunction final : public Function {
 public:
  SoftmaxCrossEntropyFunction(Tensor softmax, Tensor labels, const InBatchSoftmaxOptions& options)
      : softmax_(std::move(softmax)), labels_(std::move(labels)), options_(options) {}
  std::string_view name() const override { return "SoftmaxCrossEntropy"; }

  // Undefined labels mean each row's own number, from `first` on.
  static internal::ClassLabels LabelsOf(const Tensor& labels, int64_t first = 0) {
    if (!labels) return {.first = first};
    return {labels.raw_data(), labels.dtype() == DType::kI64};
  }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    Tensor dx = Tensor::Empty(ctx, softmax_.shape());
    const internal::SoftmaxSlope slope = {softmax_.data<float>(),
                                          LabelsOf(labels_, options_.first),
                                          ScaleOf(ctx, options_.over, softmax_.dim(0)),
                                          softmax_.dim(1),
                                          grads[0].data<float>(),
                                          dx.data<float>(),
                                          DataOf(options_.weights)};
    internal::Elementwise(ctx, dx.numel(), slope, kGrain);
    return {dx};
  }

  static const float* DataOf(const Tensor& weights) {
    return weights ? weights.data<float>() : nullptr;
  }

 private:
  Tensor softmax_, labels_;
  InBatchSoftmaxOptions options_;
};

// Labels as i32 or i64. A CPU, which can look at them for nothing, checks that each is a class.
Tensor CheckedLabels(Context& ctx, const Tensor& labels, int64_t rows, int64_t classes) {
  if (!labels.defined()) throw Error("SoftmaxCrossEntropy: labels are undefined");
  if (!IsInteger(labels.dtype()))
    throw Error(
        Format("SoftmaxCrossEntropy: labels of {}; expected whole numbers", labels.dtype()));
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
                                const Tensor& labels, const InBatchSoftmaxOptions& options = {}) {
  using Softmax = SoftmaxCrossEntropyFunction;
  const int64_t rows = x.dim(0);
  const Tensor softmax = Tensor::Empty(ctx, x.shape()),
               losses = Tensor::Empty(ctx, {rows}, DType::kF64);
  const internal::SoftmaxLossRow row = {x.data<float>(),
                                        Softmax::LabelsOf(labels, options.first),
                                        x.dim(1),
                                        softmax.data<float>(),
                                        losses.data<double>(),
                                        Softmax::DataOf(options.weights)};
  internal::Rowwise(ctx, rows, row, /*grain=*/16);
  Tensor loss = internal::ChunkedSum(ctx, rows, internal::NumbersOf<double>{losses.data<double>()},
                                     FactorOf(ctx, options.over, rows));
  return Record(ctx, std::make_unique<Softmax>(softmax, labels, options), {logits},
                std::move(loss));
}

}  // namespace

LossRows RowsThatCount(Context& ctx, int64_t rows, const Tensor& labels, const Tensor& weights,
                       const Tensor& where) {
  const Shape shape = {rows};
  for (const Tensor* column : {&labels, &weights, &where})
    if (*column) {
      TESSERA_CHECK_EQ(column->dtype(), DType::kF32, "rows of a loss");
      TESSERA_CHECK(column->numel() == rows && column->dim(0) == rows,
                    "rows of a loss: expected {} of them, got a tensor {}", rows, column->shape());
    }
  CheckDevice(ctx, "rows of a loss", labels, weights, where);
  LossRows counted = {Tensor::Empty(ctx, shape), Tensor::Empty(ctx, shape), {}};
  const auto data = [](const Tensor& t) { return t ? t.data<float>() : nullptr; };
  const auto stride = [](const Tensor& t) { return t ? t.strides()[0] : int64_t{0}; };
  const Tensor w = weights ? weights.Contiguous(ctx) : Tensor();
  internal::Elementwise(
      ctx, rows,
      internal::CountRow{data(labels), data(where), data(w), stride(labels), stride(where),
                         counted.labels.data<float>(), counted.weights.data<float>()},
      kGrain);
  counted.total = internal::ChunkedSum(
      ctx, rows, internal::NumbersOf<float>{counted.weights.data<float>()}, {});
  return counted;
}

bool RowCounts(const float* label, const float* where) { return internal::RowCounts(label, where); }

Variable BceWithLogits(Context& ctx, const Variable& logits, const Tensor& labels,
                       const Tensor& weights, const LossOver& over) {
  return RunElementwise<internal::BceWithLogitsFormula>(ctx, logits, labels, weights, over);
}

Variable Bce(Context& ctx, const Variable& probabilities, const Tensor& labels,
             const Tensor& weights, const LossOver& over) {
  return RunElementwise<internal::BceFormula>(ctx, probabilities, labels, weights, over);
}

Variable Mse(Context& ctx, const Variable& x, const Tensor& labels, const Tensor& weights,
             const LossOver& over) {
  return RunElementwise<internal::MseFormula>(ctx, x, labels, weights, over);
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
  TESSERA_CHECK(q && q.rank() == 2 && (q.dim(0) > 0 || options.over.total),
                "InBatchSoftmax of a tensor {}", q.value().shape());
  TESSERA_CHECK(c.rank() == 2 && c.dim(1) == q.dim(1) && options.first >= 0 &&
                    q.dim(0) <= c.dim(0) && options.first <= c.dim(0) - q.dim(0),
                "InBatchSoftmax: {} against {}, from row {} on", q.value().shape(),
                c.value().shape(), options.first);
  const Shape rows = {q.dim(0)};
  const Tensor& w = options.weights;
  if (w) TESSERA_CHECK_EQ(w.shape(), rows, "InBatchSoftmax: weights");
  const Variable left = options.normalize ? NormalizeRows(ctx, q, options.eps) : q;
  const Variable right = options.normalize ? NormalizeRows(ctx, c, options.eps) : c;
  const Variable scores =
      Scale(ctx, MatMul(ctx, left, right, /*transpose_b=*/true), 1.0f / options.temperature);
  return RunSoftmaxCrossEntropy(ctx, scores, scores.value(), /*labels=*/{}, options);
}

}  // namespace tessera
