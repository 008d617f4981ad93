#include "sparse/jagged_matmul.h"

#include <memory>
#include <utility>

#include "sparse/jagged_layout.h"

namespace tessera {
namespace {

constexpr int64_t kBags = 8;

// A matrix in memory: element (i, j) is data[i·rows + j·columns].
struct View {
  float* data;
  int64_t rows, columns;
  View transposed() const { return {data, columns, rows}; }
};

// c [m, n] += a [m, k] · b [k, n].
void AddProduct(int64_t m, int64_t k, int64_t n, View a, View b, View c) {
  for (int64_t i = 0; i < m; ++i)
    for (int64_t l = 0; l < k; ++l) {
      const float factor = a.data[i * a.rows + l * a.columns];
      const float* from = b.data + l * b.rows;
      float* to = c.data + i * c.rows;
      if (b.columns == 1 && c.columns == 1)
        for (int64_t j = 0; j < n; ++j) to[j] += factor * from[j];
      else
        for (int64_t j = 0; j < n; ++j) to[j * c.columns] += factor * from[j * b.columns];
    }
}

// Rows from `row` on of a contiguous matrix.
View RowsOf(const Tensor& t, int64_t row) {
  return {t.data<float>() + row * t.dim(1), t.dim(1), 1};
}
// Matrix b of a contiguous batch [B, M, K].
View MatrixOf(const Tensor& t, int64_t b) {
  return {t.data<float>() + b * t.dim(1) * t.dim(2), t.dim(2), 1};
}

using Layout = std::shared_ptr<const JaggedLayout>;

template <typename Fn>
void ForBags(Context& ctx, const JaggedLayout& layout, Fn fn) {
  ParallelFor(ctx, layout.cells(), kBags, [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) fn(b, layout.run(b));
  });
}

Layout LayoutOf(const Tensor& offsets, int64_t max_length, int64_t rows) {
  auto layout = std::make_shared<const JaggedLayout>(offsets, max_length, rows);
  for (int64_t b = 0; b < layout->cells(); ++b)
    TESSERA_CHECK_LE(layout->run(b).all, max_length, "bag {}: rows, and max_length", b);
  return layout;
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
    ForBags(ctx, *layout_, [&](int64_t b, JaggedLayout::Run run) {
      AddProduct(run.count, k, m, RowsOf(y_, run.row), MatrixOf(g, b).transposed(),
                 RowsOf(gx, run.row));
      AddProduct(run.count, m, k, RowsOf(x_, run.row), MatrixOf(g, b), RowsOf(gy, run.row));
    });
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
    ForBags(ctx, *layout_, [&](int64_t b, JaggedLayout::Run run) {
      AddProduct(run.count, m, k, RowsOf(g, run.row), MatrixOf(y_, b).transposed(),
                 RowsOf(gx, run.row));
      AddProduct(k, run.count, m, RowsOf(x_, run.row).transposed(), RowsOf(g, run.row),
                 MatrixOf(gy, b));
    });
    return {gx, gy};
  }

 private:
  Layout layout_;
  Tensor x_, y_;
};

struct VecMul {
  Layout layout;
  int64_t heads, dim;
  // Head h of bag b: its vector, its block of a's columns from `row` on, its output.
  View Vector(const Tensor& v, int64_t b, int64_t h) const { return RowsOf(v, b * heads + h); }
  View Block(const Tensor& a, int64_t row, int64_t h) const {
    View block = RowsOf(a, row);
    block.data += h * dim;
    return block;
  }
};

class VecMulFunction : public Function {
 public:
  VecMulFunction(VecMul shape, Tensor v, Tensor a)
      : shape_(std::move(shape)), v_(std::move(v)), a_(std::move(a)) {}
  std::string_view name() const override { return "BatchedDenseVecJagged2dMul"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor g = grads[0].Contiguous(ctx);
    const Tensor gv = Tensor::Zeros(ctx, v_.shape()), ga = Tensor::Zeros(ctx, a_.shape());
    ForBags(ctx, *shape_.layout, [&](int64_t b, JaggedLayout::Run run) {
      for (int64_t h = 0; h < shape_.heads; ++h) {
        const View upstream = shape_.Vector(g, b, h), block = shape_.Block(a_, run.row, h);
        AddProduct(1, shape_.dim, run.count, upstream, block.transposed(), shape_.Vector(gv, b, h));
        AddProduct(run.count, 1, shape_.dim, shape_.Vector(v_, b, h).transposed(), upstream,
                   shape_.Block(ga, run.row, h));
      }
    });
    return {gv, ga};
  }

 private:
  VecMul shape_;
  Tensor v_, a_;
};

}  // namespace

Variable JaggedJaggedBmm(Context& ctx, const Variable& x, const Variable& y, const Tensor& offsets,
                         int64_t max_length) {
  TESSERA_CHECK(x.rank() == 2 && y.rank() == 2, "JaggedJaggedBmm: x {}, y {}", x.shape(),
                y.shape());
  TESSERA_CHECK_EQ(x.dim(0), y.dim(0), "JaggedJaggedBmm: rows of x and y");
  const Layout layout = LayoutOf(offsets, max_length, x.dim(0));
  const Tensor left = x.value().Contiguous(ctx), right = y.value().Contiguous(ctx);
  const int64_t m = x.dim(1), k = y.dim(1);
  Tensor z = Tensor::Zeros(ctx, {layout->cells(), m, k});
  ForBags(ctx, *layout, [&](int64_t b, JaggedLayout::Run run) {
    AddProduct(m, run.count, k, RowsOf(left, run.row).transposed(), RowsOf(right, run.row),
               MatrixOf(z, b));
  });
  return Record(ctx, std::make_unique<JaggedJaggedFunction>(layout, left, right), {x, y},
                std::move(z));
}

Variable JaggedDenseBmm(Context& ctx, const Variable& x, const Tensor& offsets, const Variable& y,
                        int64_t max_length) {
  TESSERA_CHECK(x.rank() == 2 && y.rank() == 3, "JaggedDenseBmm: x {}, y {}", x.shape(), y.shape());
  const Layout layout = LayoutOf(offsets, max_length, x.dim(0));
  TESSERA_CHECK_EQ(y.dim(0), layout->cells(), "JaggedDenseBmm: matrices of y, and bags");
  TESSERA_CHECK_EQ(y.dim(1), x.dim(1), "JaggedDenseBmm: rows of each y, and columns of x");
  const Tensor left = x.value().Contiguous(ctx), right = y.value().Contiguous(ctx);
  Tensor z = Tensor::Zeros(ctx, {x.dim(0), y.dim(2)});
  ForBags(ctx, *layout, [&](int64_t b, JaggedLayout::Run run) {
    AddProduct(run.count, y.dim(1), y.dim(2), RowsOf(left, run.row), MatrixOf(right, b),
               RowsOf(z, run.row));
  });
  return Record(ctx, std::make_unique<JaggedDenseFunction>(layout, left, right), {x, y},
                std::move(z));
}

Variable BatchedDenseVecJagged2dMul(Context& ctx, const Variable& v, const Variable& a,
                                    const Tensor& a_offsets) {
  TESSERA_CHECK(v.rank() == 2 && a.rank() == 2, "BatchedDenseVecJagged2dMul: v {}, a {}", v.shape(),
                a.shape());
  VecMul shape{std::make_shared<const JaggedLayout>(a_offsets, v.dim(1), a.dim(0)), 1, a.dim(1)};
  const int64_t bags = shape.layout->cells();
  if (bags > 0) {
    shape.heads = v.dim(0) / bags;
    TESSERA_CHECK(v.dim(0) % bags == 0 && shape.heads > 0 && a.dim(1) % shape.heads == 0,
                  "BatchedDenseVecJagged2dMul: v {} and a {} of {} bags", v.shape(), a.shape(),
                  bags);
    shape.dim = a.dim(1) / shape.heads;
  } else {
    TESSERA_CHECK_EQ(v.dim(0), 0, "BatchedDenseVecJagged2dMul: vectors for no bags");
  }
  const Tensor vectors = v.value().Contiguous(ctx), blocks = a.value().Contiguous(ctx);
  Tensor y = Tensor::Zeros(ctx, {v.dim(0), shape.dim});
  ForBags(ctx, *shape.layout, [&](int64_t b, JaggedLayout::Run run) {
    for (int64_t h = 0; h < shape.heads; ++h)
      AddProduct(1, run.count, shape.dim, shape.Vector(vectors, b, h),
                 shape.Block(blocks, run.row, h), shape.Vector(y, b, h));
  });
  return Record(ctx, std::make_unique<VecMulFunction>(shape, vectors, blocks), {v, a},
                std::move(y));
}

}  // namespace tessera
