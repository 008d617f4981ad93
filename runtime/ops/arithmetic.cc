#include "runtime/ops/arithmetic.h"

#include "runtime/ops/chunked_sum.h"

namespace tessera {
namespace {

constexpr int64_t kGrain = 1 << 15;

// out[i] = fn(a[i], b[i]).
template <typename Fn>
Tensor Map2(Context& ctx, const Tensor& a_in, const Tensor& b_in, Fn fn) {
  const Tensor a = a_in.Contiguous(ctx), b = b_in.Contiguous(ctx);
  Tensor out = Tensor::Empty(ctx, a.shape());
  const float *pa = a.data<float>(), *pb = b.data<float>();
  float* po = out.data<float>();
  ParallelFor(ctx, out.numel(), kGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) po[i] = fn(pa[i], pb[i]);
  });
  return out;
}

Tensor Product(Context& ctx, const Tensor& a, const Tensor& b) {
  return Map2(ctx, a, b, [](float x, float y) { return x * y; });
}
Tensor Scaled(Context& ctx, const Tensor& x, float factor) {
  return Map2(ctx, x, x, [factor](float v, float) { return v * factor; });
}

void CheckSameShape(const char* op, const Variable& a, const Variable& b) {
  TESSERA_CHECK(a && b, "{}: an operand is undefined", op);
  TESSERA_CHECK_EQ(a.shape(), b.shape(), "{}", op);
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
    return {Tensor::Full(ctx, shape_, *grads[0].data<float>() * factor_)};
  }

 private:
  Shape shape_;
  double factor_;
};

Variable ScaledSum(Context& ctx, const Variable& x, double factor) {
  const Tensor in = x.value().Contiguous(ctx);
  const float* p = in.data<float>();
  const double sum = internal::ChunkedSum(ctx, in.numel(), [p](int64_t i) { return p[i]; });
  return Record(ctx, std::make_unique<SumFunction>(in.shape(), factor), {x},
                Tensor::Full(ctx, {}, sum * factor));
}

}  // namespace

Variable Add(Context& ctx, const Variable& a, const Variable& b) {
  CheckSameShape("Add", a, b);
  Tensor y = Map2(ctx, a, b, [](float x, float z) { return x + z; });
  return Record(ctx, std::make_unique<AddFunction>(), {a, b}, std::move(y));
}

Variable Mul(Context& ctx, const Variable& a, const Variable& b) {
  CheckSameShape("Mul", a, b);
  return Record(ctx, std::make_unique<MulFunction>(a.value(), b.value()), {a, b},
                Product(ctx, a, b));
}

Variable Scale(Context& ctx, const Variable& x, float factor) {
  TESSERA_CHECK(x, "Scale: the input is undefined");
  return Record(ctx, std::make_unique<ScaleFunction>(factor), {x}, Scaled(ctx, x, factor));
}

Variable Sum(Context& ctx, const Variable& x) {
  TESSERA_CHECK(x, "Sum: the input is undefined");
  return ScaledSum(ctx, x, 1.0);
}

Variable Mean(Context& ctx, const Variable& x) {
  TESSERA_CHECK(x && x.value().numel() > 0, "Mean of {} elements", x.value().numel());
  return ScaledSum(ctx, x, 1.0 / static_cast<double>(x.value().numel()));
}

}  // namespace tessera
