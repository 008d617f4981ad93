#include "sparse/jagged/jagged_elementwise.h"

#include <memory>
#include <utility>

#include "runtime/device/dispatch.h"
#include "runtime/for_each.h"
#include "sparse/jagged/jagged_elementwise_impl.h"
#include "sparse/jagged/jagged_layout.h"
#include "sparse/ops/row_runs.h"

namespace tessera {
namespace internal {
namespace {

constexpr int64_t kCells = 32;

template <typename Fn>
void MeetWith(Context& ctx, const JaggedLayout& layout, const Tensor& jagged, const Tensor& padded,
              Fn fn) {
  const int64_t width = RowBytes(jagged) / SizeOf(jagged.dtype());
  float *rows = jagged.data<float>(), *slots = padded.data<float>();
  const JaggedView view = layout.view();
  ParallelFor(ctx, layout.cells(), kCells, [&](int64_t begin, int64_t end) {
    for (int64_t cell = begin; cell < end; ++cell) {
      const JaggedView::Run run = view.run(cell);
      float *x = rows + run.row * width, *y = slots + cell * layout.slots() * width;
      for (int64_t i = 0; i < run.count * width; ++i) fn(x[i], y[i]);
    }
  });
}

}  // namespace

void Meet(OnCpu, Context& ctx, const JaggedLayout& layout, const Tensor& jagged,
          const Tensor& padded, MeetOp op) {
  VisitMeetOp(op, [&](auto fn) { MeetWith(ctx, layout, jagged, padded, fn); });
}

void Multiply(OnCpu on, Context& ctx, const Tensor& by, const Tensor& product) {
  ForEach(on, ctx, by.numel(), 1 << 14, MultiplyElement{by.data<float>(), product.data<float>()});
}

}  // namespace internal

namespace {

using internal::MeetOp;
using Layout = std::shared_ptr<const JaggedLayout>;

Layout MakeLayout(Context& ctx, const Variable& x, const std::vector<Tensor>& offsets,
                  const Variable& y) {
  CheckDevice(ctx, "a jagged and a dense operand", x, y);
  TESSERA_CHECK_GT(y.rank(), static_cast<int>(offsets.size()),
                   "rank of the dense operand {} with {} levels of offsets", y.shape(),
                   offsets.size());
  TESSERA_CHECK_EQ(x.value().dtype(), DType::kF32, "the jagged operand");
  TESSERA_CHECK_EQ(y.value().dtype(), DType::kF32, "the dense operand");
  std::vector<int64_t> max_lengths;
  for (size_t l = 0; l < offsets.size(); ++l) max_lengths.push_back(y.dim(static_cast<int>(l) + 1));
  auto layout = std::make_shared<const JaggedLayout>(ctx, offsets, max_lengths, x.dim(0));
  layout->CheckPadded(y, x);
  return layout;
}

void Meet(Context& ctx, const JaggedLayout& layout, const Tensor& jagged, const Tensor& padded,
          MeetOp op) {
  DispatchDevice(ctx.device(),
                 [&](auto on) { internal::Meet(on, ctx, layout, jagged, padded, op); });
}

// x · y in a new jagged tensor; 0 where y has no slot.
Tensor Product(Context& ctx, const JaggedLayout& layout, const Tensor& x, const Tensor& y) {
  Tensor product = layout.Unpad(ctx, y);
  DispatchDevice(ctx.device(), [&](auto on) { internal::Multiply(on, ctx, x, product); });
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
      Meet(ctx, *layout_, x_, result[1], MeetOp::kMultiplyPadded);
    }
    return result;
  }

 private:
  Layout layout_;
  Tensor x_, y_;
};

Variable AddJaggedOutput(Context& ctx, const Variable& x, const std::vector<Tensor>& offsets,
                         const std::vector<Variable>& dense) {
  const Layout layout = MakeLayout(ctx, x, offsets, dense[0]);
  Tensor z = x.value().Clone(ctx);
  std::vector<Variable> inputs = {x};
  for (const Variable& y : dense) {
    layout->CheckPadded(y, x);
    Meet(ctx, *layout, z, y.value().Contiguous(ctx), MeetOp::kAddToJagged);
    inputs.push_back(y);
  }
  return Record(ctx, std::make_unique<AddJaggedOutputFunction>(layout, dense.size()),
                std::move(inputs), std::move(z));
}

}  // namespace

Variable JaggedDenseElementwiseAdd(Context& ctx, const Variable& x,
                                   const std::vector<Tensor>& offsets, const Variable& y) {
  const Layout layout = MakeLayout(ctx, x, offsets, y);
  Tensor z = y.value().Clone(ctx);
  Meet(ctx, *layout, x.value().Contiguous(ctx), z, MeetOp::kAddToPadded);
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
  const Layout layout = MakeLayout(ctx, x, offsets, y);
  const Tensor left = x.value().Contiguous(ctx), right = y.value().Contiguous(ctx);
  return Record(ctx, std::make_unique<MulFunction>(layout, left, right), {x, y},
                Product(ctx, *layout, left, right));
}

}  // namespace tessera
