#include "sparse/jagged/jagged_matmul.h"

#include <memory>
#include <utility>

#include "runtime/device/dispatch.h"
#include "sparse/jagged/jagged_layout.h"
#include "sparse/jagged/jagged_matmul_impl.h"
#include "sparse/ops/naming_op.h"

namespace tessera {
namespace internal {
namespace {

constexpr int64_t kBags = 8;

void AddProduct(const BagProduct& p, int64_t bag, int64_t head, const JaggedView::Run& run) {
  const float *a = p.a.At(bag, head, run.row), *b = p.b.At(bag, head, run.row);
  float* c = p.c.At(bag, head, run.row);
  const int64_t m = p.Extent(p.m, run), k = p.Extent(p.k, run), n = p.Extent(p.n, run);
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) {
      const float factor = a[i * p.a.rows + l * p.a.columns];
      const float* from = b + l * p.b.rows;
      float* to = c + i * p.c.rows;
      if (p.b.columns == 1 && p.c.columns == 1)
        for (int64_t j = 0; j < n; ++j) to[j] += factor * from[j];
      else
        for (int64_t j = 0; j < n; ++j) to[j * p.c.columns] += factor * from[j * p.b.columns];
    }
}

}  // namespace

void Multiply(OnCpu, Context& ctx, const BagProduct& product) {
  ParallelFor(ctx, product.bags, kBags, [&](int64_t begin, int64_t end) {
    for (int64_t bag = begin; bag < end; ++bag)
      for (int64_t head = 0; head < product.heads; ++head)
        AddProduct(product, bag, head, product.view.run(bag));
  });
}

}  // namespace internal

namespace {

using internal::BagMatrix;
using internal::kRowsOfBag;

// The rows of a jagged matrix.
BagMatrix RowsOf(const Tensor& t) { return {t.data<float>(), 0, 0, t.dim(1), t.dim(1), 1}; }
// The matrices of a contiguous batch [B, M, K].
BagMatrix MatricesOf(const Tensor& t) {
  return {t.data<float>(), t.dim(1) * t.dim(2), 0, 0, t.dim(2), 1};
}

struct Layout {
  std::shared_ptr<const JaggedLayout> of_bags;
  int64_t heads = 1;

  // Vectors [B·H, L], each a matrix of one row.
  BagMatrix VectorsOf(const Tensor& t) const {
    return {t.data<float>(), heads * t.dim(1), t.dim(1), 0, t.dim(1), 1};
  }
  // Blocks of columns [N, H·D].
  BagMatrix BlocksOf(const Tensor& t) const {
    return {t.data<float>(), 0, t.dim(1) / heads, t.dim(1), t.dim(1), 1};
  }
  void Multiply(Context& ctx, int64_t m, int64_t k, int64_t n, const BagMatrix& a,
                const BagMatrix& b, const BagMatrix& c) const {
    const internal::BagProduct product = {
        of_bags->view(), of_bags->cells(), heads, m, k, n, a, b, c};
    DispatchDevice(ctx.device(), [&](auto on) { internal::Multiply(on, ctx, product); });
  }
};

// Only a CPU checks that no bag is longer than max_length; on a device, rows beyond it count as 0.
Layout MakeLayout(Context& ctx, const Tensor& offsets, int64_t max_length, int64_t rows) {
  auto layout = std::make_shared<const JaggedLayout>(ctx, offsets, max_length, rows);
  if (ctx.device() == Device::Cpu())
    for (int64_t b = 0; b < layout->cells(); ++b)
      if (layout->view().run(b).all > max_length)
        throw Error(Format("bag {} has {} rows; expected at most {}, max_length", b,
                           layout->view().run(b).all, max_length));
  return {std::move(layout), 1};
}

// z = xᵀy: gx = y·gᵀ, gy = x·g.
class JaggedJaggedFunction : public Function {
 public:
  JaggedJaggedFunction(Layout layout, Tensor x, Tensor y)
      : layout_(std::move(layout)), x_(std::move(x)), y_(std::move(y)) {}
  std::string_view name() const override { return "JaggedJaggedBmm"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor g = grads[0].Contiguous(ctx);
    const Tensor gx = Tensor::Zeros(ctx, x_.shape()), gy = Tensor::Zeros(ctx, y_.shape());
    const int64_t m = x_.dim(1), k = y_.dim(1);
    layout_.Multiply(ctx, kRowsOfBag, k, m, RowsOf(y_), MatricesOf(g).transposed(), RowsOf(gx));
    layout_.Multiply(ctx, kRowsOfBag, m, k, RowsOf(x_), MatricesOf(g), RowsOf(gy));
    return {gx, gy};
  }

 private:
  Layout layout_;
  Tensor x_, y_;
};

// z = x·y: gx = g·yᵀ, gy = xᵀ·g.
class JaggedDenseFunction : public Function {
 public:
  JaggedDenseFunction(Layout layout, Tensor x, Tensor y)
      : layout_(std::move(layout)), x_(std::move(x)), y_(std::move(y)) {}
  std::string_view name() const override { return "JaggedDenseBmm"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor g = grads[0].Contiguous(ctx);
    const Tensor gx = Tensor::Zeros(ctx, x_.shape()), gy = Tensor::Zeros(ctx, y_.shape());
    const int64_t k = y_.dim(1), m = y_.dim(2);
    layout_.Multiply(ctx, kRowsOfBag, m, k, RowsOf(g), MatricesOf(y_).transposed(), RowsOf(gx));
    layout_.Multiply(ctx, k, kRowsOfBag, m, RowsOf(x_).transposed(), RowsOf(g), MatricesOf(gy));
    return {gx, gy};
  }

 private:
  Layout layout_;
  Tensor x_, y_;
};

// y = v·block: gv = g·blockᵀ, ga = vᵀ·g.
class VecMulFunction : public Function {
 public:
  VecMulFunction(Layout layout, Tensor v, Tensor a)
      : layout_(std::move(layout)), v_(std::move(v)), a_(std::move(a)) {}
  std::string_view name() const override { return "BatchedDenseVecJagged2dMul"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor g = grads[0].Contiguous(ctx);
    const Tensor gv = Tensor::Zeros(ctx, v_.shape()), ga = Tensor::Zeros(ctx, a_.shape());
    const BagMatrix upstream = layout_.VectorsOf(g);
    layout_.Multiply(ctx, 1, g.dim(1), kRowsOfBag, upstream, layout_.BlocksOf(a_).transposed(),
                     layout_.VectorsOf(gv));
    layout_.Multiply(ctx, kRowsOfBag, 1, g.dim(1), layout_.VectorsOf(v_).transposed(), upstream,
                     layout_.BlocksOf(ga));
    return {gv, ga};
  }

 private:
  Layout layout_;
  Tensor v_, a_;
};

}  // namespace

Variable JaggedJaggedBmm(Context& ctx, const Variable& x, const Variable& y, const Tensor& offsets,
                         int64_t max_length) {
  return internal::NamingOp("JaggedJaggedBmm", [&]() -> Variable {
    CheckDevice(ctx, "JaggedJaggedBmm", x, y);
    if (x.rank() != 2 || y.rank() != 2 || x.dim(0) != y.dim(0))
      throw Error(Format("x {} and y {}; expected [N, .] twice, with one N", x.shape(), y.shape()));
    const Layout layout = MakeLayout(ctx, offsets, max_length, x.dim(0));
    const Tensor left = x.value().Contiguous(ctx), right = y.value().Contiguous(ctx);
    const int64_t m = x.dim(1), k = y.dim(1);
    Tensor z = Tensor::Zeros(ctx, {layout.of_bags->cells(), m, k});
    layout.Multiply(ctx, m, kRowsOfBag, k, RowsOf(left).transposed(), RowsOf(right), MatricesOf(z));
    return Record(ctx, std::make_unique<JaggedJaggedFunction>(layout, left, right), {x, y},
                  std::move(z));
  });
}

Variable JaggedDenseBmm(Context& ctx, const Variable& x, const Tensor& offsets, const Variable& y,
                        int64_t max_length) {
  return internal::NamingOp("JaggedDenseBmm", [&]() -> Variable {
    CheckDevice(ctx, "JaggedDenseBmm", x, y);
    if (x.rank() != 2 || y.rank() != 3)
      throw Error(Format("x {} and y {}; expected [N, K] and [B, K, M]", x.shape(), y.shape()));
    const Layout layout = MakeLayout(ctx, offsets, max_length, x.dim(0));
    if (y.dim(0) != layout.of_bags->cells() || y.dim(1) != x.dim(1))
      throw Error(Format("y {} for x {} of {} bags; expected [{}, {}, M]", y.shape(), x.shape(),
                         layout.of_bags->cells(), layout.of_bags->cells(), x.dim(1)));
    const Tensor left = x.value().Contiguous(ctx), right = y.value().Contiguous(ctx);
    Tensor z = Tensor::Zeros(ctx, {x.dim(0), y.dim(2)});
    layout.Multiply(ctx, kRowsOfBag, y.dim(1), y.dim(2), RowsOf(left), MatricesOf(right),
                    RowsOf(z));
    return Record(ctx, std::make_unique<JaggedDenseFunction>(layout, left, right), {x, y},
                  std::move(z));
  });
}

Variable BatchedDenseVecJagged2dMul(Context& ctx, const Variable& v, const Variable& a,
                                    const Tensor& a_offsets) {
  return internal::NamingOp("BatchedDenseVecJagged2dMul", [&]() -> Variable {
    CheckDevice(ctx, "BatchedDenseVecJagged2dMul", v, a);
    if (v.rank() != 2 || a.rank() != 2)
      throw Error(Format("v {} and a {}; expected matrices", v.shape(), a.shape()));
    Layout layout{std::make_shared<const JaggedLayout>(ctx, a_offsets, v.dim(1), a.dim(0)), 1};
    const int64_t bags = layout.of_bags->cells();
    if (bags > 0) {
      layout.heads = v.dim(0) / bags;
      TESSERA_CHECK(v.dim(0) % bags == 0 && layout.heads > 0 && a.dim(1) % layout.heads == 0,
                    "BatchedDenseVecJagged2dMul: v {} and a {} of {} bags", v.shape(), a.shape(),
                    bags);
    } else {
      TESSERA_CHECK_EQ(v.dim(0), 0, "BatchedDenseVecJagged2dMul: vectors for no bags");
    }
    const Tensor vectors = v.value().Contiguous(ctx), blocks = a.value().Contiguous(ctx);
    const int64_t dim = a.dim(1) / layout.heads;
    Tensor y = Tensor::Zeros(ctx, {v.dim(0), dim});
    layout.Multiply(ctx, 1, kRowsOfBag, dim, layout.VectorsOf(vectors), layout.BlocksOf(blocks),
                    layout.VectorsOf(y));
    return Record(ctx, std::make_unique<VecMulFunction>(layout, vectors, blocks), {v, a},
                  std::move(y));
  });
}

}  // namespace tessera
