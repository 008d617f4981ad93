#include "embedding/table/row_init.h"

#include <cmath>
#include <utility>

#include "embedding/table/row_init_impl.h"
#include "runtime/elementwise.h"

namespace tessera {
namespace internal {
namespace {

// √(variance) and √(3·variance), the half width of a uniform distribution, of gain²·2/fans.
float DeviationOf(double gain, int64_t fans) {
  return static_cast<float>(gain * std::sqrt(2.0 / static_cast<double>(fans)));
}
float BoundOf(double gain, int64_t fans) {
  return static_cast<float>(gain * std::sqrt(6.0 / static_cast<double>(fans)));
}
double KaimingGain(double a) { return std::sqrt(1.0 / (1.0 + a * a)); }

void FillSymmetric(Context& ctx, const Tensor& w, float bound) {
  FillUniform(ctx, w, -bound, bound);
}

}  // namespace
}  // namespace internal

using internal::BoundOf;
using internal::DeviationOf;

void FillNormal(Context& ctx, const Tensor& tensor, float mean, float stddev) {
  TESSERA_CHECK(tensor.is_contiguous(), "FillNormal of a tensor {} that is not contiguous",
                tensor.shape());
  CheckDevice(ctx, "FillNormal", tensor);
  const uint64_t sequence = ctx.random().TakeSequence();
  const internal::NormalElement fill = {ctx.random().seed(), sequence, mean, stddev,
                                        tensor.data<float>()};
  internal::Elementwise(ctx, tensor.numel(), fill, /*grain=*/1 << 12);
}

RowInit ConstantRows(float value) {
  return [=](Context& ctx, const Tensor& w) { w.Fill(ctx, static_cast<double>(value)); };
}
RowInit UniformRows(float low, float high) {
  return [=](Context& ctx, const Tensor& w) { FillUniform(ctx, w, low, high); };
}
RowInit NormalRows(float mean, float stddev) {
  return [=](Context& ctx, const Tensor& w) { FillNormal(ctx, w, mean, stddev); };
}
RowInit XavierUniformRows(float gain) {
  return [=](Context& ctx, const Tensor& w) {
    internal::FillSymmetric(ctx, w, BoundOf(gain, w.dim(0) + w.dim(1)));
  };
}
RowInit XavierNormalRows(float gain) {
  return [=](Context& ctx, const Tensor& w) {
    FillNormal(ctx, w, 0, DeviationOf(gain, w.dim(0) + w.dim(1)));
  };
}
RowInit KaimingUniformRows(float a) {
  return [=](Context& ctx, const Tensor& w) {
    internal::FillSymmetric(ctx, w, BoundOf(internal::KaimingGain(a), w.dim(1)));
  };
}
RowInit KaimingNormalRows(float a) {
  return [=](Context& ctx, const Tensor& w) {
    FillNormal(ctx, w, 0, DeviationOf(internal::KaimingGain(a), w.dim(1)));
  };
}
RowInit RowsFrom(std::function<float(int64_t, int64_t)> fn) {
  return [fn = std::move(fn)](Context& ctx, const Tensor& w) {
    std::vector<float> values;
    values.reserve(static_cast<size_t>(w.numel()));
    for (int64_t row = 0; row < w.dim(0); ++row)
      for (int64_t column = 0; column < w.dim(1); ++column) values.push_back(fn(row, column));
    w.CopyFrom(ctx, Tensor::From(ctx, w.shape(), values));
  };
}

}  // namespace tessera
