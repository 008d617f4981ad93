#include "runtime/ops/loss.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/ops/arithmetic.h"
#include "runtime/ops/chunked_sum.h"
#include "runtime/ops/gemm.h"
#include "runtime/ops/matmul.h"
#include "runtime/ops/norm.h"

namespace tessera {
namespace {

// An elementwise loss: its value and its slope in x. Formulas in double: a batch is short, and the
// sum decides little otherwise.
struct BceWithLogitsTerm {
  static constexpr const char* kName = "BceWithLogits";
  static double Value(double x, double t) {
    return std::max(x, 0.0) - x * t + std::log1p(std::exp(-std::abs(x)));
  }
  static double Slope(double x, double t) {
    const double e = std::exp(-std::abs(x));
    return (x < 0 ? e : 1.0) / (1.0 + e) - t;
  }
};
struct BceTerm {
  static constexpr const char* kName = "Bce";
  static double Log(double p) { return std::max(std::log(p), -100.0); }
  static double Value(double p, double t) { return -t * Log(p) - (1 - t) * Log(1 - p); }
  static double Slope(double p, double t) { return (p - t) / std::max(p * (1 - p), 1e-12); }
};
struct MseTerm {
  static constexpr const char* kName = "Mse";
  static double Value(double x, double t) { return (x - t) * (x - t); }
  static double Slope(double x, double t) { return 2 * (x - t); }
};

double ScalarGradient(const std::vector<Tensor>& grads) { return *grads[0].data<float>(); }

// mean_i w_i·Term(x_i, t_i).
template <typename Term>
class ElementwiseLoss final : public Function {
 public:
  ElementwiseLoss(Tensor x, Tensor labels, Tensor weights)
      : x_(std::move(x)), labels_(std::move(labels)), weights_(std::move(weights)) {}
  std::string_view name() const override { return Term::kName; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    Tensor dx = Tensor::Empty(ctx, x_.shape());
    const double scale = ScalarGradient(grads) / static_cast<double>(x_.numel());
    const float *x = x_.data<float>(), *t = labels_.data<float>(),
                *w = weights_ ? weights_.data<float>() : nullptr;
    float* out = dx.data<float>();
    ParallelFor(ctx, dx.numel(), 1024, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out[i] = static_cast<float>(Term::Slope(x[i], t[i]) * (w ? w[i] : 1.0) * scale);
    });
    return {dx};
  }

 private:
  Tensor x_, labels_, weights_;
};

Tensor CheckedTarget(Context& ctx, const char* loss, const char* what, const Tensor& target,
                     const Shape& shape) {
  TESSERA_CHECK(target.defined(), "{}: {} are undefined", loss, what);
  TESSERA_CHECK_EQ(target.dtype(), DType::kF32, "{}: {}", loss, what);
  TESSERA_CHECK_EQ(target.shape(), shape, "{}: {}", loss, what);
  return target.Contiguous(ctx);
}

template <typename Term>
Variable RunElementwise(Context& ctx, const Variable& input, const Tensor& labels,
                        const Tensor& weights = {}) {
  TESSERA_CHECK(input && input.value().numel() > 0, "{} of an empty batch", Term::kName);
  const Tensor x = input.value().Contiguous(ctx);
  const Tensor t = CheckedTarget(ctx, Term::kName, "labels", labels, x.shape());
  const Tensor w =
      weights ? CheckedTarget(ctx, Term::kName, "weights", weights, x.shape()) : Tensor();
  const float *px = x.data<float>(), *pt = t.data<float>(), *pw = w ? w.data<float>() : nullptr;
  const double sum = internal::ChunkedSum(
      ctx, x.numel(), [&](int64_t i) { return Term::Value(px[i], pt[i]) * (pw ? pw[i] : 1.0); });
  return Record(ctx, std::make_unique<ElementwiseLoss<Term>>(x, t, w), {input},
                Tensor::Full(ctx, {}, sum / static_cast<double>(x.numel())));
}

// Keeps softmax(logits) [B, C]: d logits = (softmax − one-hot label)/B.
class SoftmaxCrossEntropyFunction final : public Function {
 public:
  SoftmaxCrossEntropyFunction(Tensor softmax, std::vector<int64_t> labels)
      : softmax_(std::move(softmax)), labels_(std::move(labels)) {}
  std::string_view name() const override { return "SoftmaxCrossEntropy"; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const int64_t rows = softmax_.dim(0), classes = softmax_.dim(1);
    const float scale = static_cast<float>(ScalarGradient(grads) / static_cast<double>(rows));
    Tensor dx = Tensor::Empty(ctx, softmax_.shape());
    ParallelFor(ctx, rows, 16, [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        const float* p = softmax_.data<float>() + r * classes;
        float* out = dx.data<float>() + r * classes;
        for (int64_t i = 0; i < classes; ++i) out[i] = p[i] * scale;
        const int64_t label = labels_[static_cast<size_t>(r)];
        out[label] = (p[label] - 1.0f) * scale;
      }
    });
    return {dx};
  }

 private:
  Tensor softmax_;
  std::vector<int64_t> labels_;
};

// Writes softmax(x) and returns −log softmax(x)[label].
double SoftmaxRow(const float* x, int64_t classes, int64_t label, float* softmax) {
  const double largest = *std::max_element(x, x + classes);
  double sum = 0;
  for (int64_t i = 0; i < classes; ++i) sum += std::exp(x[i] - largest);
  for (int64_t i = 0; i < classes; ++i)
    softmax[i] = static_cast<float>(std::exp(x[i] - largest) / sum);
  return largest + std::log(sum) - x[label];
}

std::vector<int64_t> CheckedLabels(Context& ctx, const Tensor& labels, int64_t rows,
                                   int64_t classes) {
  TESSERA_CHECK(labels.defined() && IsInteger(labels.dtype()),
                "SoftmaxCrossEntropy: labels are not integers");
  TESSERA_CHECK_EQ(labels.shape(), (Shape{rows}), "SoftmaxCrossEntropy: labels");
  std::vector<int64_t> values = labels.To(ctx, DType::kI64).ToVector<int64_t>();
  for (size_t i = 0; i < values.size(); ++i)
    TESSERA_CHECK(values[i] >= 0 && values[i] < classes,
                  "SoftmaxCrossEntropy: label {} of example {} is not in [0, {})", values[i], i,
                  classes);
  return values;
}

}  // namespace

Variable BceWithLogits(Context& ctx, const Variable& logits, const Tensor& labels,
                       const Tensor& weights) {
  return RunElementwise<BceWithLogitsTerm>(ctx, logits, labels, weights);
}

Variable Bce(Context& ctx, const Variable& probabilities, const Tensor& labels) {
  return RunElementwise<BceTerm>(ctx, probabilities, labels);
}

Variable Mse(Context& ctx, const Variable& x, const Tensor& labels) {
  return RunElementwise<MseTerm>(ctx, x, labels);
}

Variable SoftmaxCrossEntropy(Context& ctx, const Variable& logits, const Tensor& labels) {
  const Tensor x = internal::AsMatrix(ctx, logits, "SoftmaxCrossEntropy: logits").Contiguous(ctx);
  const int64_t rows = x.dim(0), classes = x.dim(1);
  TESSERA_CHECK(rows > 0, "SoftmaxCrossEntropy of an empty batch");
  std::vector<int64_t> targets = CheckedLabels(ctx, labels, rows, classes);
  Tensor softmax = Tensor::Empty(ctx, x.shape());
  const auto row_loss = [&](int64_t r) {
    return SoftmaxRow(x.data<float>() + r * classes, classes, targets[static_cast<size_t>(r)],
                      softmax.data<float>() + r * classes);
  };
  const double sum = internal::ChunkedSum(ctx, rows, row_loss, /*chunk=*/16);
  return Record(ctx, std::make_unique<SoftmaxCrossEntropyFunction>(softmax, std::move(targets)),
                {logits}, Tensor::Full(ctx, {}, sum / static_cast<double>(rows)));
}

Variable InBatchSoftmax(Context& ctx, const Variable& q, const Variable& c,
                        const InBatchSoftmaxOptions& options) {
  TESSERA_CHECK(options.temperature > 0, "InBatchSoftmax: temperature {}", options.temperature);
  TESSERA_CHECK_EQ(q.value().shape(), c.value().shape(), "InBatchSoftmax");
  const Variable left = options.normalize ? NormalizeRows(ctx, q, options.eps) : q;
  const Variable right = options.normalize ? NormalizeRows(ctx, c, options.eps) : c;
  const Variable scores =
      Scale(ctx, MatMul(ctx, left, right, /*transpose_b=*/true), 1.0f / options.temperature);
  std::vector<int64_t> diagonal(static_cast<size_t>(scores.dim(0)));
  std::iota(diagonal.begin(), diagonal.end(), 0);
  return SoftmaxCrossEntropy(ctx, scores, Tensor::From(ctx, diagonal));
}

}  // namespace tessera
