#include "sparse/jagged/jagged_softmax.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "runtime/device/dispatch.h"
#include "runtime/numbers/lanes.h"
#include "sparse/jagged/jagged_softmax_impl.h"
#include "sparse/ops/naming_op.h"

namespace tessera {
namespace internal {
namespace {

constexpr int64_t kBags = 16;

// Σ term(i) in lanes.
template <typename Term>
float SumInLanes(int64_t n, Term term) {
  float lane[kLanes] = {};
  for (int64_t i = 0; i < n; ++i) lane[i % kLanes] += term(i);
  return FoldLanes(lane);
}

// Column of a bag: n numbers, `step` apart.
void SoftmaxColumn(const float* x, float* y, int64_t n, int64_t step) {
  float largest = x[0];
  for (int64_t i = 1; i < n; ++i) largest = std::max(largest, x[i * step]);
  const float sum =
      SumInLanes(n, [&](int64_t i) { return y[i * step] = FloatExp(x[i * step] - largest); });
  for (int64_t i = 0; i < n; ++i) y[i * step] /= sum;
}

void SoftmaxBackColumn(const float* y, const float* g, float* gx, int64_t n, int64_t step) {
  const float dot = SumInLanes(n, [&](int64_t i) { return g[i * step] * y[i * step]; });
  for (int64_t i = 0; i < n; ++i) gx[i * step] = y[i * step] * (g[i * step] - dot);
}

// fn(first element, rows) for each column of each bag that has rows.
template <typename Fn>
void ForColumns(Context& ctx, const Segments& segments, int64_t width, Fn fn) {
  const int64_t* offsets = segments.offsets.data<int64_t>();
  ParallelFor(ctx, segments.count(), kBags, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b)
      if (offsets[b] < offsets[b + 1])
        for (int64_t d = 0; d < width; ++d) fn(offsets[b] * width + d, offsets[b + 1] - offsets[b]);
  });
}

}  // namespace

void Softmax(OnCpu, Context& ctx, const Segments& segments, const Tensor& x, const Tensor& y) {
  const int64_t width = x.dim(1);
  ForColumns(ctx, segments, width, [&](int64_t first, int64_t rows) {
    SoftmaxColumn(x.data<float>() + first, y.data<float>() + first, rows, width);
  });
}

void SoftmaxBack(OnCpu, Context& ctx, const Segments& segments, const Tensor& y, const Tensor& g,
                 const Tensor& gx) {
  const int64_t width = y.dim(1);
  ForColumns(ctx, segments, width, [&](int64_t at, int64_t rows) {
    SoftmaxBackColumn(y.data<float>() + at, g.data<float>() + at, gx.data<float>() + at, rows,
                      width);
  });
}

}  // namespace internal

namespace {

class JaggedSoftmaxFunction : public Function {
 public:
  JaggedSoftmaxFunction(Segments segments, Tensor y)
      : segments_(std::move(segments)), y_(std::move(y)) {}
  std::string_view name() const override { return "JaggedSoftmax"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor g = grads[0].Contiguous(ctx);
    Tensor gx = Tensor::Empty(ctx, g.shape());
    DispatchDevice(ctx.device(),
                   [&](auto on) { internal::SoftmaxBack(on, ctx, segments_, y_, g, gx); });
    return {gx};
  }

 private:
  Segments segments_;
  Tensor y_;
};

}  // namespace

Variable JaggedSoftmax(Context& ctx, const Variable& x, const Tensor& offsets, int64_t max_length) {
  return internal::NamingOp("JaggedSoftmax", [&]() -> Variable {
    CheckDevice(ctx, "JaggedSoftmax", x, offsets);
    if (x.rank() != 2) throw Error(Format("x {}; expected [N, D]", x.shape()));
    Segments segments = SegmentsOverOffsets(ctx, offsets, x.dim(0), "offsets");
    if (ctx.device() == Device::Cpu()) {
      const std::span<const int64_t> at = segments.offsets.span<int64_t>();
      for (size_t b = 0; b + 1 < at.size(); ++b)
        if (at[b + 1] - at[b] > max_length)
          throw Error(Format("bag {} has {} rows; expected at most {}, max_length", b,
                             at[b + 1] - at[b], max_length));
    }
    const Tensor in = x.value().Contiguous(ctx);
    Tensor y = Tensor::Empty(ctx, in.shape());
    DispatchDevice(ctx.device(), [&](auto on) { internal::Softmax(on, ctx, segments, in, y); });
    return Record(ctx, std::make_unique<JaggedSoftmaxFunction>(std::move(segments), y), {x}, y);
  });
}

}  // namespace tessera
