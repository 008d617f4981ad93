#ifndef TESSERA_RUNTIME_OPS_KERNELS_LOSS_FORMULAS_H_
#define TESSERA_RUNTIME_OPS_KERNELS_LOSS_FORMULAS_H_
// Losses of one item or one row, the same on every machine, in double: a batch is short, and the
// sum decides little otherwise.
#include <cmath>
#include <limits>

#include "runtime/base/host_device.h"
#include "runtime/numbers/math.h"
#include "runtime/ops/kernels/sum_factor.h"

namespace tessera::internal {

// Value: the loss of x against t; Slope: its derivative in x.
struct BceWithLogitsFormula {
  static constexpr const char* kName = "BceWithLogits";
  TESSERA_HD static double Value(double x, double t) {
    return (x < 0 ? 0.0 : x) - x * t + Log1p(Exp(-fabs(x)));
  }
  TESSERA_HD static double Slope(double x, double t) {
    const double e = Exp(-fabs(x));
    return (x < 0 ? e : 1.0) / (1.0 + e) - t;
  }
};
struct BceFormula {
  static constexpr const char* kName = "Bce";
  TESSERA_HD static double BoundedLog(double p) {
    const double l = Log(p);
    return l < -100.0 ? -100.0 : l;
  }
  TESSERA_HD static double Value(double p, double t) {
    return -t * BoundedLog(p) - (1 - t) * BoundedLog(1 - p);
  }
  TESSERA_HD static double Slope(double p, double t) {
    const double variance = p * (1 - p);
    return (p - t) / (variance < 1e-12 ? 1e-12 : variance);
  }
};
struct MseFormula {
  static constexpr const char* kName = "Mse";
  TESSERA_HD static double Value(double x, double t) { return (x - t) * (x - t); }
  TESSERA_HD static double Slope(double x, double t) { return 2 * (x - t); }
};

// w_i·Value(x_i, t_i); without weights w = 1.
template <typename Formula>
struct LossTerm {
  const float *x, *labels, *weights;
  TESSERA_HD double operator()(int64_t i) const {
    return Formula::Value(x[i], labels[i]) * (weights == nullptr ? 1.0 : weights[i]);
  }
};
// The factor of a gradient of a loss, which is a mean over `count` items, or, with a divisor, a sum
// times `factor`.
struct LossScale {
  int64_t count;
  SumFactor factor;
  TESSERA_HD double Of(float gradient) const {
    return factor.divisor == nullptr ? gradient / static_cast<double>(count)
                                     : gradient * factor.Value();
  }
};
// Its derivative, times the gradient of the loss.
template <typename Formula>
struct LossSlope {
  LossTerm<Formula> term;
  const float* gradient;  // one number
  float* dx;
  LossScale scale_of;
  TESSERA_HD void operator()(int64_t i) const {
    const double scale = scale_of.Of(*gradient);
    dx[i] = static_cast<float>(Formula::Slope(term.x[i], term.labels[i]) *
                               (term.weights == nullptr ? 1.0 : term.weights[i]) * scale);
  }
};

// The class of each row: i32 or i64 numbers, or, without data, the row's own number from `first`
// on.
struct ClassLabels {
  const void* data = nullptr;
  bool wide = true;
  int64_t first = 0;
  TESSERA_HD int64_t operator[](int64_t row) const {
    if (data == nullptr) return first + row;
    return wide ? static_cast<const int64_t*>(data)[row] : static_cast<const int32_t*>(data)[row];
  }
};

// softmax(x) and −log softmax(x)[label] of a row; NaN for a label that names no class.
struct SoftmaxLossRow {
  const float* x;
  ClassLabels labels;
  int64_t classes;
  float* softmax;
  double* losses;
  const float* weights = nullptr;  // of rows; null: all 1

  template <typename Lanes>
  TESSERA_HD void operator()(Lanes lanes, int64_t row) const {
    const float* in = x + row * classes;
    float* out = softmax + row * classes;
    const double largest = lanes.Max(classes, [=](int64_t i) { return in[i]; });
    const double sum = lanes.Sum(classes, [=](int64_t i) { return Exp(in[i] - largest); });
    lanes.Each(classes,
               [=](int64_t i) { out[i] = static_cast<float>(Exp(in[i] - largest) / sum); });
    const int64_t label = labels[row];
    if (lanes.first())
      losses[row] = (label >= 0 && label < classes ? largest + Log(sum) - in[label]
                                                   : std::numeric_limits<double>::quiet_NaN()) *
                    (weights == nullptr ? 1.0 : weights[row]);
  }
};
// (softmax − one-hot label)·weight·gradient/rows.
struct SoftmaxSlope {
  const float* softmax;
  ClassLabels labels;
  LossScale scale_of;
  int64_t classes;
  const float* gradient;  // one number
  float* dx;
  const float* weights = nullptr;  // of rows; null: all 1
  TESSERA_HD void operator()(int64_t i) const {
    const int64_t row = i / classes;
    const float scale =
        static_cast<float>(scale_of.Of(*gradient) * (weights == nullptr ? 1.0 : weights[row]));
    const float hot = labels[row] == i - row * classes ? 1.0f : 0.0f;
    dx[i] = (softmax[i] - hot) * scale;
  }
};

// Whether a row counts in a loss: its label is a number, and `where`, if it is asked for, is above
// 0.
TESSERA_HD bool RowCounts(const float* label, const float* where) {
  return (label == nullptr || *label == *label) && (where == nullptr || *where > 0);
}
// Labels and weights of rows: those of a row that does not count are 0. Columns of any stride.
struct CountRow {
  const float *labels, *where, *weights;  // each may be null
  int64_t label_stride, where_stride;
  float *out_labels, *out_weights;
  TESSERA_HD void operator()(int64_t i) const {
    const float* label = labels == nullptr ? nullptr : labels + i * label_stride;
    const bool counts = RowCounts(label, where == nullptr ? nullptr : where + i * where_stride);
    out_labels[i] = counts && label != nullptr ? *label : 0.0f;
    out_weights[i] = !counts ? 0.0f : weights == nullptr ? 1.0f : weights[i];
  }
};

}  // namespace tessera::internal
#endif  // TESSERA_RUNTIME_OPS_KERNELS_LOSS_FORMULAS_H_
