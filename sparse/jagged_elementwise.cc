#include "sparse/jagged_elementwise.h"

#include <memory>
#include <utility>

#include "sparse/jagged_layout.h"
#include "sparse/row_runs.h"

namespace tessera {
namespace {

using Layout = std::shared_ptr<const JaggedLayout>;
constexpr int64_t kCells = 32;

Layout LayoutOf(const Variable& x, const std::vector<Tensor>& offsets, const Variable& y) {
  TESSERA_CHECK_GT(y.rank(), static_cast<int>(offsets.size()),
                   "rank of the dense operand {} with {} levels of offsets", y.shape(),
                   offsets.size());
  TESSERA_CHECK_EQ(x.value().dtype(), DType::kF32, "the jagged operand");
  TESSERA_CHECK_EQ(y.value().dtype(), DType::kF32, "the dense operand");
  std::vector<int64_t> max_lengths;
  for (size_t l = 0; l < offsets.size(); ++l) max_lengths.push_back(y.dim(static_cast<int>(l) + 1));
  auto layout = std::make_shared<const JaggedLayout>(offsets, max_lengths, x.dim(0));
  layout->CheckPadded(y, x);
  return layout;
}

// fn(jagged element, dense element, how many) for the places where rows of `jagged` and slots of
// `dense` meet.
template <typename Fn>
void Meet(Context& ctx, const JaggedLayout& layout, const Tensor& jagged, const Tensor& dense,
          Fn fn) {
  const int64_t width = internal::RowBytes(jagged) / SizeOf(jagged.dtype());
  float *rows = jagged.data<float>(), *slots = dense.data<float>();
  ParallelFor(ctx, layout.cells(), kCells, [&](int64_t begin, int64_t end) {
    for (int64_t cell = begin; cell < end; ++cell) {
      const JaggedLayout::Run run = layout.run(cell);
      fn(rows + run.row * width, slots + cell * layout.slots() * width, run.count * width);
    }
  });
}

// jagged += dense where they meet.
void AddDense(Context& ctx, const JaggedLayout& layout, const Tensor& jagged, const Tensor& dense) {
  Meet(ctx, layout, jagged, dense, [](float* x, const float* y, int64_t n) {
    for (int64_t i = 0; i < n; ++i) x[i] += y[i];
  });
}

// x · y in a new jagged tensor; 0 where y has no slot.
Tensor Product(Context& ctx, const JaggedLayout& layout, const Tensor& x, const Tensor& y) {
  Tensor product = layout.Unpad(ctx, y);
  const float* from = x.data<float>();
  float* to = product.data<float>();
  ParallelFor(ctx, x.numel(), 1 << 14, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] *= from[i];
  });
  return product;
}

class AddDenseOutputFunction : public Function {
 public:
  explicit AddDenseOutputFunction(Layout layout) : layout_(std::move(layout)) {}
  std::string_view name() const override { return "JaggedDenseElementwiseAdd"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {needs_grad(0) ? layout_->Unpad(ctx, grads[0]) : Tensor(), grads[0]};
  }

 private:
  Layout layout_;
};

// x plus any number of dense operands.
class AddJaggedOutputFunction : public Function {
 public:
  AddJaggedOutputFunction(Layout layout, size_t dense)
      : layout_(std::move(layout)), dense_(dense) {}
  std::string_view name() const override { return "JaggedDenseElementwiseAddJaggedOutput"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    std::vector<Tensor> result = {grads[0]};
    for (size_t i = 1; i <= dense_; ++i)
      result.push_back(needs_grad(i) ? layout_->Pad(ctx, grads[0]) : Tensor());
    return result;
  }

 private:
  Layout layout_;
  size_t dense_;
};

class MulFunction : public Function {
 public:
  MulFunction(Layout layout, Tensor x, Tensor y)
      : layout_(std::move(layout)), x_(std::move(x)), y_(std::move(y)) {}
  std::string_view name() const override { return "JaggedDenseElementwiseMul"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor g = grads[0].Contiguous(ctx);
    std::vector<Tensor> result(2);
    if (needs_grad(0)) result[0] = Product(ctx, *layout_, g, y_);
    if (needs_grad(1)) {
      result[1] = layout_->Pad(ctx, g);
      Meet(ctx, *layout_, x_, result[1], [](const float* x, float* gy, int64_t n) {
        for (int64_t i = 0; i < n; ++i) gy[i] *= x[i];
      });
    }
    return result;
  }

 private:
  Layout layout_;
  Tensor x_, y_;
};

Variable AddJaggedOutput(Context& ctx, const Variable& x, const std::vector<Tensor>& offsets,
                         const std::vector<Variable>& dense) {
  const Layout layout = LayoutOf(x, offsets, dense[0]);
  Tensor z = x.value().Clone(ctx);
  std::vector<Variable> inputs = {x};
  for (const Variable& y : dense) {
    layout->CheckPadded(y, x);
    AddDense(ctx, *layout, z, y.value().Contiguous(ctx));
    inputs.push_back(y);
  }
  return Record(ctx, std::make_unique<AddJaggedOutputFunction>(layout, dense.size()),
                std::move(inputs), std::move(z));
}

}  // namespace

Variable JaggedDenseElementwiseAdd(Context& ctx, const Variable& x,
                                   const std::vector<Tensor>& offsets, const Variable& y) {
  const Layout layout = LayoutOf(x, offsets, y);
  Tensor z = y.value().Clone(ctx);
  Meet(ctx, *layout, x.value().Contiguous(ctx), z, [](const float* from, float* to, int64_t n) {
    for (int64_t i = 0; i < n; ++i) to[i] = from[i] + to[i];
  });
  return Record(ctx, std::make_unique<AddDenseOutputFunction>(layout), {x, y}, std::move(z));
}

Variable JaggedDenseElementwiseAddJaggedOutput(Context& ctx, const Variable& x,
                                               const std::vector<Tensor>& offsets,
                                               const Variable& y) {
  return AddJaggedOutput(ctx, x, offsets, {y});
}

Variable JaggedDenseDenseElementwiseAddJaggedOutput(Context& ctx, const Variable& x,
                                                    const std::vector<Tensor>& offsets,
                                                    const Variable& y_0, const Variable& y_1) {
  return AddJaggedOutput(ctx, x, offsets, {y_0, y_1});
}

Variable JaggedDenseElementwiseMul(Context& ctx, const Variable& x,
                                   const std::vector<Tensor>& offsets, const Variable& y) {
  const Layout layout = LayoutOf(x, offsets, y);
  const Tensor left = x.value().Contiguous(ctx), right = y.value().Contiguous(ctx);
  return Record(ctx, std::make_unique<MulFunction>(layout, left, right), {x, y},
                Product(ctx, *layout, left, right));
}

}  // namespace tessera
