#include "sparse/jagged_softmax.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "sparse/segments.h"

namespace tessera {
namespace {

constexpr int64_t kBags = 16;

// Column of a bag: n numbers, `step` apart.
void Softmax(const float* x, float* y, int64_t n, int64_t step) {
  float largest = x[0], sum = 0;
  for (int64_t i = 1; i < n; ++i) largest = std::max(largest, x[i * step]);
  for (int64_t i = 0; i < n; ++i) sum += y[i * step] = std::exp(x[i * step] - largest);
  for (int64_t i = 0; i < n; ++i) y[i * step] /= sum;
}

void SoftmaxBack(const float* y, const float* g, float* gx, int64_t n, int64_t step) {
  float dot = 0;
  for (int64_t i = 0; i < n; ++i) dot += g[i * step] * y[i * step];
  for (int64_t i = 0; i < n; ++i) gx[i * step] = y[i * step] * (g[i * step] - dot);
}

// fn(first element, rows) for each column of each bag that has rows.
template <typename Fn>
void ForColumns(Context& ctx, const std::vector<int64_t>& offsets, int64_t width, Fn fn) {
  ParallelFor(ctx, static_cast<int64_t>(offsets.size()) - 1, kBags,
              [&](int64_t begin, int64_t end) {
                for (auto b = static_cast<size_t>(begin); b < static_cast<size_t>(end); ++b)
                  if (offsets[b] < offsets[b + 1])
                    for (int64_t d = 0; d < width; ++d)
                      fn(offsets[b] * width + d, offsets[b + 1] - offsets[b]);
              });
}

class JaggedSoftmaxFunction : public Function {
 public:
  JaggedSoftmaxFunction(std::vector<int64_t> offsets, Tensor y)
      : offsets_(std::move(offsets)), y_(std::move(y)) {}
  std::string_view name() const override { return "JaggedSoftmax"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor g = grads[0].Contiguous(ctx);
    Tensor gx = Tensor::Empty(ctx, g.shape());
    const int64_t width = g.dim(1);
    ForColumns(ctx, offsets_, width, [&](int64_t at, int64_t rows) {
      SoftmaxBack(y_.data<float>() + at, g.data<float>() + at, gx.data<float>() + at, rows, width);
    });
    return {gx};
  }

 private:
  std::vector<int64_t> offsets_;
  Tensor y_;
};

}  // namespace

Variable JaggedSoftmax(Context& ctx, const Variable& x, const Tensor& offsets, int64_t max_length) {
  TESSERA_CHECK_EQ(x.rank(), 2, "JaggedSoftmax: x {}", x.shape());
  std::vector<int64_t> at = CheckedOffsets(offsets, "JaggedSoftmax: offsets");
  TESSERA_CHECK_EQ(at.back(), x.dim(0), "JaggedSoftmax: the last offset, and rows");
  for (size_t b = 0; b + 1 < at.size(); ++b)
    TESSERA_CHECK_LE(at[b + 1] - at[b], max_length, "JaggedSoftmax: rows of bag {}, and max_length",
                     b);
  const Tensor in = x.value().Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, in.shape());
  const int64_t width = in.dim(1);
  ForColumns(ctx, at, width, [&](int64_t first, int64_t rows) {
    Softmax(in.data<float>() + first, y.data<float>() + first, rows, width);
  });
  return Record(ctx, std::make_unique<JaggedSoftmaxFunction>(std::move(at), y), {x}, y);
}

}  // namespace tessera
