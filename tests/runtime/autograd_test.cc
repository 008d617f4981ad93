#include "runtime/autograd.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/elementwise.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// y = a·b, elementwise: the smallest op that keeps tensors for backward.
class ProductFunction final : public Function {
 public:
  ProductFunction(Tensor a, Tensor b) : a_(std::move(a)), b_(std::move(b)) {}
  std::string_view name() const override { return "product"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    return {needs_grad(0) ? Times(ctx, grads[0], b_) : Tensor(),
            needs_grad(1) ? Times(ctx, grads[0], a_) : Tensor()};
  }
  static Tensor Times(Context& ctx, const Tensor& a, const Tensor& b) {
    Tensor y = Tensor::Empty(ctx, a.shape());
    internal::Elementwise(
        ctx, y.numel(), internal::MultiplyItems{a.data<float>(), b.data<float>(), y.data<float>()});
    return y;
  }

 private:
  Tensor a_, b_;
};

Variable Product(Context& ctx, const Variable& a, const Variable& b) {
  return Record(ctx, std::make_unique<ProductFunction>(a.value(), b.value()), {a, b},
                ProductFunction::Times(ctx, a, b));
}

class AutogradTest : public testing::DeviceTest {
 protected:
  Variable Leaf(std::vector<float> values, bool requires_grad = true) {
    return Variable(Tensor::From(ctx(), values), requires_grad);
  }
};
TESSERA_INSTANTIATE_DEVICES(AutogradTest);

TEST_P(AutogradTest, GradientsFlowBackAndAccumulate) {
  Variable x = Leaf({2, 3}), w = Leaf({5, 7});
  for (int pass = 1; pass <= 2; ++pass) {
    Tape tape(ctx());
    const Variable y = Product(ctx(), Product(ctx(), x, w), x);  // x²w: x is used twice
    tape.Backward(y, Tensor::From<float>(ctx(), {1, 10}));
    EXPECT_THAT(w.grad().ToVector<float>(), ElementsAre(4.0f * pass, 90.0f * pass));
  }
  EXPECT_THAT(x.grad().ToVector<float>(), ElementsAre(2 * 2 * 2 * 5, 2 * 10 * 2 * 3 * 7));
  x.ZeroGrad();
  EXPECT_FALSE(x.grad().defined());
}

TEST_P(AutogradTest, SeveralLossesGoBackInOnePass) {
  Variable x = Leaf({2}), w = Leaf({3});
  Tape tape(ctx());
  const Variable xw = Product(ctx(), x, w), square = Product(ctx(), xw, x);  // x·w, x²·w
  const std::vector<Variable> roots = {xw, square, xw, x};
  const Tensor tenth = Tensor::From<float>(ctx(), {10});
  tape.Backward(roots, std::vector<Tensor>{{}, tenth, tenth, {}});  // 11·x·w + 10·x²·w + x
  EXPECT_THAT(x.grad().ToVector<float>(), ElementsAre(11 * 3 + 10 * 2 * 2 * 3 + 1));
  EXPECT_THAT(w.grad().ToVector<float>(), ElementsAre(11 * 2 + 10 * 4));
}

TEST_P(AutogradTest, LossesAndGradientsThatDoNotFitAreRefused) {
  const Variable x = Leaf({2});
  Tape tape(ctx());
  const std::vector<Variable> roots = {Product(ctx(), x, x), Leaf({1}, false)};
  EXPECT_THAT(
      [&] { tape.Backward(roots, std::vector<Tensor>{{}}); },
      ThrowsMessage<Error>(HasSubstr("from 2 variables: expected as many gradients, got 1")));
  EXPECT_THAT([&] { tape.Backward(std::span<const Variable>()); },
              ThrowsMessage<Error>(HasSubstr("from no variable")));
  EXPECT_THAT([&] { tape.Backward(roots); },
              ThrowsMessage<Error>(HasSubstr("nothing that requires a gradient")));
}

TEST_P(AutogradTest, AVariableTimesItself) {
  Variable x = Leaf({3});
  Tape tape(ctx());
  tape.Backward(Product(ctx(), x, x));
  EXPECT_THAT(x.grad().ToVector<float>(), ElementsAre(6));
}

TEST_P(AutogradTest, NothingIsRecordedWithoutATapeOrUnderNoGrad) {
  const Variable x = Leaf({1});
  EXPECT_FALSE(Product(ctx(), x, x).requires_grad());
  Tape tape(ctx());
  {
    const NoGrad no_grad(ctx());
    EXPECT_FALSE(Product(ctx(), x, x).requires_grad());
  }
  EXPECT_EQ(tape.size(), 0);
  EXPECT_FALSE(Product(ctx(), Leaf({1}, false), Leaf({1}, false)).requires_grad());
  EXPECT_EQ(tape.size(), 0);
  EXPECT_TRUE(Product(ctx(), x, Leaf({1}, false)).requires_grad());
  EXPECT_EQ(tape.size(), 1);
}

TEST_P(AutogradTest, InputsThatNeedNoneGetNoGradient) {
  Variable x = Leaf({2}), c = Leaf({5}, false);
  Tape tape(ctx());
  tape.Backward(Product(ctx(), x, c));
  EXPECT_TRUE(x.grad().defined());
  EXPECT_FALSE(c.grad().defined());
}

TEST_P(AutogradTest, ResultsKeepTheirGradientOnlyOnRequest) {
  const Variable x = Leaf({2});
  Tape tape(ctx());
  Variable kept = Product(ctx(), x, x), dropped = Product(ctx(), kept, x);
  kept.RetainGrad();
  tape.Backward(Product(ctx(), dropped, x));
  EXPECT_THAT(kept.grad().ToVector<float>(), ElementsAre(4));
  EXPECT_FALSE(dropped.grad().defined());
}

TEST_P(AutogradTest, SaysWhenAGradientIsWhole) {
  Variable x = Leaf({2}), w = Leaf({3}), unread = Leaf({1}), c = Leaf({5}, false);
  Tape tape(ctx());
  Product(ctx(), unread, c);
  const Variable y = Product(ctx(), Product(ctx(), Product(ctx(), x, w), c), x);  // c·w·x²
  std::vector<std::pair<std::string, float>> said;
  tape.OnGradientReady([&](const Variable& v) {
    for (const auto& [name, variable] : {std::pair("x", x), {"w", w}, {"unread", unread}, {"c", c}})
      if (v.is(variable)) said.emplace_back(name, v.grad() ? v.grad().ToVector<float>()[0] : -1.0f);
  });
  tape.Backward(y);
  EXPECT_THAT(
      said, ElementsAre(std::pair("x", 60.0f), std::pair("w", 20.0f), std::pair("unread", -1.0f)));
}

TEST_P(AutogradTest, BackwardFreesTheNodesAndRunsOnce) {
  const Variable x = Leaf({2});
  Tape tape(ctx());
  const Variable y = Product(ctx(), x, x);
  tape.Backward(y);
  EXPECT_EQ(tape.size(), 0);
  EXPECT_THAT([&] { tape.Backward(y); }, ThrowsMessage<Error>(HasSubstr("make a new Tape")));
}

TEST_P(AutogradTest, FreeingTheTapeFreesTheMemory) {
  const Variable x(Tensor::Full(ctx(), {1000}, 1), true);
  const int64_t before = ctx().allocator().stats().live_bytes;
  {
    Tape tape(ctx());
    Product(ctx(), Product(ctx(), x, x), x);
    EXPECT_GE(ctx().allocator().stats().live_bytes, before + 2 * 4000);
  }
  EXPECT_EQ(ctx().allocator().stats().live_bytes, before);
}

TEST_P(AutogradTest, TapesNest) {
  Variable x = Leaf({2});
  Tape outer(ctx());
  {
    Tape inner(ctx());
    inner.Backward(Product(ctx(), x, x));
  }
  EXPECT_EQ(outer.size(), 0);
  outer.Backward(Product(ctx(), x, x));
  EXPECT_THAT(x.grad().ToVector<float>(), ElementsAre(8));
}

// d(x⁴)/dx = 4·2³.
TEST_P(AutogradTest, AnInnerTapesGradientIsGivenToTheOuterOne) {
  const Variable x = Leaf({2});
  Tape outer(ctx());
  Variable y = Product(ctx(), x, x);
  {
    Tape inner(ctx());
    inner.Backward(Product(ctx(), y, y));
  }
  const Tensor left = y.grad();
  EXPECT_THAT(left.ToVector<float>(), ElementsAre(8));
  EXPECT_THAT([&] { outer.Backward(y, left); },
              ThrowsMessage<Error>(HasSubstr("has a gradient already")));
  y.ZeroGrad();
  outer.Backward(y, left);
  EXPECT_THAT(x.grad().ToVector<float>(), ElementsAre(32));
}

TEST_P(AutogradTest, ARootThatAnotherTapeRecordedIsRefused) {
  const Variable x = Leaf({1});
  Tape outer(ctx());
  Variable root;
  {
    Tape inner(ctx());
    root = Product(ctx(), x, x);
  }
  EXPECT_THAT([&] { outer.Backward(root); },
              ThrowsMessage<Error>(HasSubstr("that another tape recorded")));
  EXPECT_FALSE(x.grad().defined());
}

// y = a + b as an op that hands its gradient on, to both inputs.
class SumFunction final : public Function {
 public:
  std::string_view name() const override { return "sum"; }
  std::vector<Tensor> Backward(Context&, const std::vector<Tensor>& grads) override {
    return {grads[0], grads[0]};
  }
};

Variable SumOf(Context& ctx, const Variable& a, const Variable& b) {
  Tensor y = Tensor::Empty(ctx, a.shape());
  internal::Elementwise(
      ctx, y.numel(),
      internal::AddItems{a.value().data<float>(), b.value().data<float>(), y.data<float>()});
  return Record(ctx, std::make_unique<SumFunction>(), {a, b}, y);
}

TEST_P(AutogradTest, AGradientThatBackwardWasGivenMayBeFilledAgain) {
  const Variable a = Leaf({1, 1}), b = Leaf({1, 1});
  const Tensor seed = Tensor::Empty(ctx(), {2});
  for (const float value : {1.0f, 10.0f}) {
    seed.Fill(ctx(), value);
    Tape tape(ctx());
    const std::vector<Variable> roots = {SumOf(ctx(), a, b), a};
    tape.Backward(roots, std::vector<Tensor>{seed, seed});
  }
  seed.Fill(ctx(), 0);
  EXPECT_THAT(a.grad().ToVector<float>(), ElementsAre(22, 22));
  EXPECT_THAT(b.grad().ToVector<float>(), ElementsAre(11, 11));
  EXPECT_THAT(seed.ToVector<float>(), ElementsAre(0, 0));
}

TEST_P(AutogradTest, GradientsThatAreKeptShareNoMemory) {
  Variable a = Leaf({1, 1}), b = Leaf({1, 1}), c = Leaf({1, 1});
  Tape tape(ctx());
  Variable kept = SumOf(ctx(), a, b);
  kept.RetainGrad();
  const Variable y = Product(ctx(), SumOf(ctx(), kept, c), Leaf({3, 3}, false));
  tape.Backward(y, Tensor::Full(ctx(), {2}, 1));
  a.grad().Fill(ctx(), 7);
  kept.grad().Fill(ctx(), 8);
  c.grad().Fill(ctx(), 9);
  EXPECT_THAT(a.grad().ToVector<float>(), ElementsAre(7, 7));
  EXPECT_THAT(b.grad().ToVector<float>(), ElementsAre(3, 3));
  EXPECT_THAT(kept.grad().ToVector<float>(), ElementsAre(8, 8));
}

// Says where the gradient that it makes lies.
class PlacedFunction final : public Function {
 public:
  explicit PlacedFunction(const void** place) : place_(place) {}
  std::string_view name() const override { return "placed"; }
  std::vector<Tensor> Backward(Context& ctx, const std::vector<Tensor>& grads) override {
    const Tensor made = Tensor::Full(ctx, grads[0].shape(), 2);
    *place_ = made.raw_data();
    return {made};
  }

 private:
  const void** place_;
};

TEST_P(AutogradTest, AGradientThatAnOpMakesIsKeptWithoutACopy) {
  const Variable x = Leaf({2, 2});
  const void* place = nullptr;
  Tape tape(ctx());
  const Variable y =
      Record(ctx(), std::make_unique<PlacedFunction>(&place), {x}, x.value().Clone(ctx()));
  tape.Backward(y, Tensor::Full(ctx(), {2}, 1));
  EXPECT_EQ(x.grad().raw_data(), place);
}

TEST_P(AutogradTest, TapesMayEndInAnyOrder) {
  const Variable x = Leaf({1});
  auto first = std::make_unique<Tape>(ctx()), second = std::make_unique<Tape>(ctx());
  first.reset();
  second->Backward(Product(ctx(), x, x));
  EXPECT_TRUE(x.grad().defined());
  second.reset();
  EXPECT_EQ(ctx().tape(), nullptr);
}

TEST_P(AutogradTest, RefusesWhatMakesNoSense) {
  const Variable x = Leaf({2, 3});
  Tape tape(ctx());
  EXPECT_THROW(tape.Backward(Leaf({1}, false)), Error);
  EXPECT_THAT([&] { tape.Backward(Product(ctx(), x, x)); },
              ThrowsMessage<Error>(HasSubstr("reduce it to one element")));
  EXPECT_THROW(Variable(x).set_value(Tensor::Zeros(ctx(), {3})), Error);
  EXPECT_THROW(Variable(x).set_value(Tensor::Zeros(ctx(), {2, 4}).Narrow(1, 0, 3)), Error);
  EXPECT_THROW(Variable(x).AccumulateGrad(ctx(), Tensor::Zeros(ctx(), {3})), Error);
  EXPECT_THAT([&] { Variable(x).AccumulateGrad(ctx(), Tensor::Zeros(ctx(), {2}, DType::kI64)); },
              ThrowsMessage<Error>(HasSubstr("a variable [2] of f32 got a gradient [2] of i64")));
  EXPECT_THAT([&] { Variable(x).AccumulateGrad(ctx(), {}); },
              ThrowsMessage<Error>(HasSubstr("got a gradient that is undefined")));
  EXPECT_FALSE(x.grad().defined());
}

}  // namespace
}  // namespace tessera
