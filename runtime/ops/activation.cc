#include "runtime/ops/activation.h"

#include "runtime/ops/kernels.h"

namespace tessera {
namespace {

constexpr int64_t kGrain = 1 << 14;

class ActivationFunction final : public Function {
 public:
  ActivationFunction(const char* name, const internal::ActivationKernels& kernels, Tensor saved)
      : name_(name), kernels_(kernels), saved_(std::move(saved)) {}
  std::string_view name() const override { return name_; }

  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor dy = grads[0].Contiguous(ctx);
    Tensor dx = Tensor::Empty(ctx, dy.shape());
    const float *saved = saved_.data<float>(), *pdy = dy.data<float>();
    float* pdx = dx.data<float>();
    ParallelFor(ctx, dx.numel(), kGrain, [&](int64_t begin, int64_t end) {
      kernels_.backward(saved + begin, pdy + begin, pdx + begin, end - begin);
    });
    return {dx};
  }

 private:
  const char* name_;
  const internal::ActivationKernels& kernels_;
  Tensor saved_;
};

Variable Activate(Context& ctx, const char* name, const internal::ActivationKernels& kernels,
                  const Variable& x, bool save_input) {
  TESSERA_CHECK(x.value().defined() && x.value().dtype() == DType::kF32,
                "{}: the input is not an f32 tensor", name);
  const Tensor in = x.value().Contiguous(ctx);
  Tensor y = Tensor::Empty(ctx, in.shape());
  const float* px = in.data<float>();
  float* py = y.data<float>();
  ParallelFor(ctx, y.numel(), kGrain, [&](int64_t begin, int64_t end) {
    kernels.forward(px + begin, py + begin, end - begin);
  });
  return Record(ctx, std::make_unique<ActivationFunction>(name, kernels, save_input ? in : y), {x},
                y);
}

}  // namespace

Variable Relu(Context& ctx, const Variable& x) {
  return Activate(ctx, "Relu", internal::BestElementwise().relu, x, /*save_input=*/false);
}
Variable Sigmoid(Context& ctx, const Variable& x) {
  return Activate(ctx, "Sigmoid", internal::BestElementwise().sigmoid, x, /*save_input=*/false);
}
Variable Tanh(Context& ctx, const Variable& x) {
  return Activate(ctx, "Tanh", internal::BestElementwise().tanh, x, /*save_input=*/false);
}
Variable Swish(Context& ctx, const Variable& x) {
  return Activate(ctx, "Swish", internal::BestElementwise().swish, x, /*save_input=*/true);
}

}  // namespace tessera
