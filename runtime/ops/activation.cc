#include "runtime/ops/activation.h"

#include "runtime/device/dispatch.h"
#include "runtime/ops/activation_impl.h"
#include "runtime/ops/kernels/kernels.h"

namespace tessera {
namespace internal {
namespace {

constexpr int64_t kGrain = 1 << 14;

const ActivationKernels& KernelsOf(ActivationKind kind) {
  const ElementwiseKernels& all = ChosenElementwise();
  switch (kind) {
    case ActivationKind::kRelu:
      return all.relu;
    case ActivationKind::kSigmoid:
      return all.sigmoid;
    case ActivationKind::kTanh:
      return all.tanh;
    case ActivationKind::kSwish:
      return all.swish;
  }
  TESSERA_FAIL("unknown activation {}", static_cast<int>(kind));
}

}  // namespace

void Activate(OnCpu, Context& ctx, ActivationKind kind, const float* x, float* y, int64_t n) {
  const ActivationKernels& kernels = KernelsOf(kind);
  ParallelFor(ctx, n, kGrain, [&](int64_t begin, int64_t end) {
    kernels.forward(x + begin, y + begin, end - begin);
  });
}

void ActivateBackward(OnCpu, Context& ctx, ActivationKind kind, const float* saved, const float* dy,
                      float* dx, int64_t n) {
  const ActivationKernels& kernels = KernelsOf(kind);
  ParallelFor(ctx, n, kGrain, [&](int64_t begin, int64_t end) {
    kernels.backward(saved + begin, dy + begin, dx + begin, end - begin);
  });
}

}  // namespace internal

namespace {

using internal::ActivationKind;

class ActivationFunction final : public Function {
 public:
  ActivationFunction(const char* name, ActivationKind kind, Tensor saved)
      : name_(name), kind_(kind), saved_(std::move(saved)) {}
  std::string_view name() const override { return name_; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    Tensor dx = Tensor::Empty(ctx, dy.shape());
    DispatchDevice(ctx.device(), [&](auto on) {
      internal::ActivateBackward(on, ctx, kind_, saved_.data<float>(), dy.data<float>(),
                                 dx.data<float>(), dx.numel());
    });
    return {dx};
  }

 private:
  const char* name_;
  ActivationKind kind_;
  Tensor saved_;
};

Variable Activate(Context& ctx, const char* name, ActivationKind kind, const Variable& x) {
  TESSERA_CHECK(x.value().defined() && x.value().dtype() == DType::kF32,
                "{}: the input is not an f32 tensor", name);
  CheckDevice(ctx, name, x.value());
  const Tensor in = x.value().Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, in.shape());
  DispatchDevice(ctx.device(), [&](auto on) {
    internal::Activate(on, ctx, kind, in.data<float>(), y.data<float>(), y.numel());
  });
  const Tensor saved = kind == ActivationKind::kSwish ? in : y;
  return Record(ctx, std::make_unique<ActivationFunction>(name, kind, saved), {x}, y);
}

}  // namespace

Variable Relu(Context& ctx, const Variable& x) {
  return Activate(ctx, "Relu", ActivationKind::kRelu, x);
}
Variable Sigmoid(Context& ctx, const Variable& x) {
  return Activate(ctx, "Sigmoid", ActivationKind::kSigmoid, x);
}
Variable Tanh(Context& ctx, const Variable& x) {
  return Activate(ctx, "Tanh", ActivationKind::kTanh, x);
}
Variable Swish(Context& ctx, const Variable& x) {
  return Activate(ctx, "Swish", ActivationKind::kSwish, x);
}

}  // namespace tessera
