#include "runtime/ops/arithmetic.h"

#include "runtime/accumulation.h"
#include "runtime/elementwise.h"
#include "runtime/ops/kernels/chunked_sum.h"

namespace tessera {
namespace {

// Sets out[i] to Items' operation on a[i] and b[i].
template <typename Items>
Tensor Map2(Context& ctx, const Tensor& a_in, const Tensor& b_in) {
  const Tensor a = a_in.Contiguous(ctx), b = b_in.Contiguous(ctx);
  Tensor out = Tensor::Empty(ctx, a.shape());
  internal::Elementwise(ctx, out.numel(),
                        Items{a.data<float>(), b.data<float>(), out.data<float>()});
  return out;
}

Tensor Product(Context& ctx, const Tensor& a, const Tensor& b) {
  return Map2<internal::MultiplyItems>(ctx, a, b);
}
Tensor Scaled(Context& ctx, const Tensor& in, float factor) {
  const Tensor x = in.Contiguous(ctx);
  Tensor out = Tensor::Empty(ctx, x.shape());
  internal::Elementwise(ctx, out.numel(),
                        internal::ScaleItems{x.data<float>(), factor, out.data<float>()});
  return out;
}

void CheckF32(const char* op, const Tensor& x) {
  if (x.dtype() != DType::kF32)
    throw Error(Format("{} of a tensor {} of {}; expected f32", op, x.shape(), x.dtype()));
}

void CheckOperands(Context& ctx, const char* op, const Variable& a, const Variable& b) {
  TESSERA_CHECK(a && b, "{}: an operand is undefined", op);
  TESSERA_CHECK_EQ(a.shape(), b.shape(), "{}", op);
  CheckF32(op, a);
  CheckF32(op, b);
  CheckDevice(ctx, op, a.value(), b.value());
}

class AddFunction final : public Function {
 public:
  std::string_view name() const override { return "Add"; }
  std::vector<Tensor> Backward(Context&, const std::vector<Tensor>& grads) override {
    return {grads[0], grads[0]};
  }
};

class MulFunction final : public Function {
 public:
  MulFunction(Tensor a, Tensor b) : a_(std::move(a)), b_(std::move(b)) {}
  std::string_view name() const override { return "Mul"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {needs_grad(0) ? Product(ctx, grads[0], b_) : Tensor(),
            needs_grad(1) ? Product(ctx, grads[0], a_) : Tensor()};
  }

 private:
  Tensor a_, b_;
};

class MulAddFunction final : public Function {
 public:
  MulAddFunction(Tensor a, Tensor b) : a_(std::move(a)), b_(std::move(b)) {}
  std::string_view name() const override { return "MulAdd"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {needs_grad(0) ? Product(ctx, grads[0], b_) : Tensor(),
            needs_grad(1) ? Product(ctx, grads[0], a_) : Tensor(), grads[0]};
  }

 private:
  Tensor a_, b_;
};

class ScaleFunction final : public Function {
 public:
  explicit ScaleFunction(float factor) : factor_(factor) {}
  std::string_view name() const override { return "Scale"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {Scaled(ctx, grads[0], factor_)};
  }

 private:
  float factor_;
};

class SumFunction final : public Function {
 public:
  SumFunction(Shape shape, double factor) : shape_(shape), factor_(factor) {}
  std::string_view name() const override { return "Sum"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    Tensor dx = Tensor::Empty(ctx, shape_);
    internal::Elementwise(
        ctx, dx.numel(), internal::SpreadNumber{grads[0].data<float>(), factor_, dx.data<float>()});
    return {dx};
  }

 private:
  Shape shape_;
  double factor_;
};

Variable ScaledSum(Context& ctx, const Variable& x, double factor) {
  CheckF32("Sum", x);
  CheckDevice(ctx, "Sum", x.value());
  const Tensor in = x.value().Contiguous(ctx);
  Tensor sum =
      internal::ChunkedSum(ctx, in.numel(), internal::NumbersOf<float>{in.data<float>()}, {factor});
  return Record(ctx, std::make_unique<SumFunction>(in.shape(), factor), {x}, std::move(sum));
}

}  // namespace

Variable Add(Context& ctx, const Variable& a, const Variable& b) {
  CheckOperands(ctx, "Add", a, b);
  Tensor y = Map2<internal::AddItems>(ctx, a, b);
  return Record(ctx, std::make_unique<AddFunction>(), {a, b}, std::move(y));
}

Variable Mul(Context& ctx, const Variable& a, const Variable& b) {
  CheckOperands(ctx, "Mul", a, b);
  return Record(ctx, std::make_unique<MulFunction>(a.value(), b.value()), {a, b},
                Product(ctx, a, b));
}

Variable MulAdd(Context& ctx, const Variable& a_in, const Variable& b_in, const Variable& c_in) {
  CheckOperands(ctx, "MulAdd", a_in, b_in);
  CheckOperands(ctx, "MulAdd", a_in, c_in);
  const Tensor a = a_in.value().Contiguous(ctx), b = b_in.value().Contiguous(ctx),
               c = c_in.value().Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, a.shape());
  internal::Elementwise(ctx, y.numel(),
                        internal::MultiplyAddItems{a.data<float>(), b.data<float>(),
                                                   c.data<float>(), y.data<float>()});
  return Record(ctx, std::make_unique<MulAddFunction>(a, b), {a_in, b_in, c_in}, std::move(y));
}

Variable Scale(Context& ctx, const Variable& x, float factor) {
  TESSERA_CHECK(x, "Scale: the input is undefined");
  CheckF32("Scale", x);
  CheckDevice(ctx, "Scale", x.value());
  return Record(ctx, std::make_unique<ScaleFunction>(factor), {x}, Scaled(ctx, x, factor));
}

Variable Sum(Context& ctx, const Variable& x) {
  TESSERA_CHECK(x, "Sum: the input is undefined");
  return ScaledSum(ctx, x, 1.0);
}

Variable Mean(Context& ctx, const Variable& x) {
  TESSERA_CHECK(x && x.value().numel() > 0, "Mean of {} elements", x.value().numel());
  return ScaledSum(ctx, x,
                   1.0 / static_cast<double>(internal::ItemsOfStep(ctx, x.value().numel())));
}

}  // namespace tessera
