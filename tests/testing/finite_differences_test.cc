#include "tests/testing/finite_differences.h"

#include <gtest/gtest-spi.h>

namespace tessera::testing {
namespace {

// y = x², whose backward multiplies by `slope`·x.
Variable Square(Context& ctx, const Variable& x, float slope) {
  class SquareFunction final : public Function {
   public:
    SquareFunction(Tensor x, float slope) : x_(std::move(x)), slope_(slope) {}
    std::string_view name() const override { return "Square"; }
    std::vector<Tensor> Backward(Context& c, const std::vector<Tensor>& grads) override {
      Tensor dx = Tensor::Empty(c, x_.shape());
      for (size_t i = 0; i < dx.span<float>().size(); ++i)
        dx.span<float>()[i] = slope_ * x_.span<float>()[i] * grads[0].span<float>()[i];
      return {dx};
    }

   private:
    Tensor x_;
    float slope_;
  };
  Tensor y = x.value().Clone(ctx);
  for (float& v : y.span<float>()) v *= v;
  return Record(ctx, std::make_unique<SquareFunction>(x.value(), slope), {x}, y);
}

void Check(float slope) {
  Context ctx({.threads = 1, .seed = 1});
  ExpectGradient(ctx, [slope](Context& c, const auto& v) { return Square(c, v[0], slope); },
                 {RandomTensor(ctx, {1})});
}

TEST(FiniteDifferencesTest, AcceptsARightGradient) { Check(2); }

TEST(FiniteDifferencesTest, FindsAWrongGradient) {
  EXPECT_NONFATAL_FAILURE(Check(2.1f), "element 0");
}

}  // namespace
}  // namespace tessera::testing
