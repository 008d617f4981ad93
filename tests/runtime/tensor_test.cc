#include "runtime/tensor.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

#include "runtime/device/page_color.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

class TensorTest : public testing::DeviceTest {
 protected:
  Tensor Counting(const Shape& shape) {
    std::vector<float> values(static_cast<size_t>(shape.numel()));
    std::iota(values.begin(), values.end(), 0.0f);
    return Tensor::From(ctx(), shape, values);
  }
};

TEST_P(TensorTest, ViewsShareMemory) {
  const Tensor t = Counting({3, 4});
  const Tensor columns = t.Narrow(1, 1, 2), rows = t.Rows(1, 3);
  EXPECT_THAT(columns.ToVector<float>(), ElementsAre(1, 2, 5, 6, 9, 10));
  EXPECT_FALSE(columns.is_contiguous());
  EXPECT_EQ(columns.row_stride(), 4);
  EXPECT_TRUE(rows.is_contiguous());
  EXPECT_THAT(rows.Reshape({4, -1}).ToVector<float>(), ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
  columns.Fill(ctx(), -1);
  EXPECT_THAT(t.ToVector<float>(), ElementsAre(0, -1, -1, 3, 4, -1, -1, 7, 8, -1, -1, 11));
  EXPECT_FALSE(t.unique());
}

TEST_P(TensorTest, CopiesBetweenAnyStrides) {
  const Tensor t = Tensor::Zeros(ctx(), {2, 3, 4}), source = Counting({2, 3, 6});
  t.Narrow(2, 1, 2).CopyFrom(ctx(), source.Narrow(2, 3, 2));
  EXPECT_THAT(t.Rows(0, 1).ToVector<float>(), ElementsAre(0, 3, 4, 0, 0, 9, 10, 0, 0, 15, 16, 0));
  const Tensor clone = source.Narrow(1, 1, 1).Clone(ctx());
  EXPECT_TRUE(clone.is_contiguous());
  EXPECT_THAT(clone.ToVector<float>(), ElementsAre(6, 7, 8, 9, 10, 11, 24, 25, 26, 27, 28, 29));
}

// Every block of a tensor of four dimensions: whole, part or one element of each.
TEST_P(TensorTest, CopiesEveryBlock) {
  const Shape from_shape = {2, 3, 4, 5}, to_shape = {3, 4, 5, 6};
  const Tensor source = Counting(from_shape);
  for (int choice = 0; choice < 81; ++choice) {
    Tensor from = source;
    const Tensor whole = Tensor::Zeros(ctx(), to_shape);
    Tensor to = whole;
    int64_t first[4], length[4];
    for (int d = 0, rest = choice; d < 4; ++d, rest /= 3) {
      first[d] = rest % 3 == 0 ? 0 : 1;
      length[d] = rest % 3 == 2 ? 1 : from_shape[d] - first[d];
      from = from.Narrow(d, first[d], length[d]);
      to = to.Narrow(d, to_shape[d] - length[d], length[d]);
    }
    to.CopyFrom(ctx(), from);
    std::vector<float> expected(static_cast<size_t>(to_shape.numel()), 0.0f);
    for (int64_t i = 0; i < from.numel(); ++i) {
      int64_t at_from = 0, at_to = 0, rest = i, from_step = 1, to_step = 1;
      for (int d = 3; d >= 0; --d) {
        const int64_t place = rest % length[d];
        at_from += (first[d] + place) * from_step;
        at_to += (to_shape[d] - length[d] + place) * to_step;
        rest /= length[d];
        from_step *= from_shape[d];
        to_step *= to_shape[d];
      }
      expected[static_cast<size_t>(at_to)] = static_cast<float>(at_from);
    }
    ASSERT_EQ(whole.ToVector<float>(), expected) << "choice " << choice;
  }
}

TEST_P(TensorTest, OutlivesWhatItIsAViewOf) {
  Tensor row;
  {
    const Tensor t = Counting({2, 3});
    row = t.Rows(1, 2);
  }
  EXPECT_THAT(row.ToVector<float>(), ElementsAre(3, 4, 5));
}

TEST_P(TensorTest, ConvertsElements) {
  const Tensor t = Tensor::From<float>(ctx(), {1.5f, -2.25f, 1e9f});
  EXPECT_THAT(t.To(ctx(), DType::kI64).ToVector<int64_t>(), ElementsAre(1, -2, 1000000000));
  EXPECT_THAT(t.To(ctx(), DType::kF16).To(ctx(), DType::kF32).ToVector<float>(),
              ElementsAre(1.5f, -2.25f, INFINITY));
  EXPECT_THAT(t.To(ctx(), DType::kBool).ToVector<bool>(), ElementsAre(true, true, true));
  EXPECT_THAT(Tensor::From<bool>(ctx(), {true, false}).To(ctx(), DType::kF64).ToVector<double>(),
              ElementsAre(1, 0));
}

TEST_P(TensorTest, EmptyShapesWork) {
  const Tensor t = Tensor::Zeros(ctx(), {0, 5});
  EXPECT_EQ(t.numel(), 0);
  EXPECT_TRUE(t.is_contiguous());
  EXPECT_TRUE(t.Clone(ctx()).defined());
  EXPECT_EQ(t.Narrow(1, 2, 2).shape(), (Shape{0, 2}));
  EXPECT_EQ(Tensor::Full(ctx(), {}, 3).ToVector<float>(), std::vector<float>{3});
  EXPECT_TRUE(SameBits(t, t.Clone(ctx())));
}

TEST_P(TensorTest, RefusesWhatMakesNoSense) {
  const Tensor t = Counting({3, 4});
  EXPECT_THROW(t.data<int32_t>(), Error);
  EXPECT_THROW(t.Narrow(2, 0, 1), Error);
  EXPECT_THROW(t.Narrow(1, 3, 2), Error);
  EXPECT_THROW(t.Narrow(0, -1, 2), Error);
  EXPECT_THROW(t.Reshape({5, -1}), Error);
  EXPECT_THROW(t.Reshape({-3, -4}), Error);
  EXPECT_EQ(t.dim(-2), 3);
  EXPECT_THROW((void)t.dim(2), Error);
  EXPECT_THROW((void)t.dim(-3), Error);
  EXPECT_THROW(t.Narrow(1, 0, 2).Reshape({6}), Error);
  EXPECT_THROW(t.Narrow(1, 0, 2).span<float>(), Error);
  EXPECT_THROW(Tensor::Empty(ctx(), {-1}), Error);
  EXPECT_THROW(Tensor::From<float>(ctx(), {2}, {1, 2, 3}), Error);
  EXPECT_THROW(t.CopyFrom(ctx(), Counting({4, 3})), Error);
  EXPECT_THROW((Shape{1, 1, 1, 1, 1, 1, 1}), Error);
  EXPECT_THAT([&] { Tensor().Fill(ctx(), 1); },
              ThrowsMessage<Error>(HasSubstr("Fill of an undefined tensor")));
  EXPECT_THAT([&] { Tensor().Reinterpret(0, {1}, DType::kF32); },
              ThrowsMessage<Error>(HasSubstr("Reinterpret of an undefined tensor")));
}

TEST_P(TensorTest, BorrowsMemoryAndKeepsItsOwner) {
  auto owner = std::make_shared<std::vector<float>>(std::vector<float>{1, 2});
  std::weak_ptr<std::vector<float>> alive = owner;
  {
    const Tensor t = Tensor::Borrow(owner->data(), {2}, DType::kF32, owner);
    owner.reset();
    EXPECT_THAT(t.ToVector<float>(), ElementsAre(1, 2));
    EXPECT_FALSE(alive.expired());
  }
  EXPECT_TRUE(alive.expired());
}

TEST(HostTensor, MemoryIsAlignedAndAccountedFor) {
  Context ctx;
  const AllocatorStats before = HostAllocator().stats();
  {
    const Tensor small = Tensor::Empty(ctx, {3}, DType::kU8),
                 large = Tensor::Empty(ctx, {5 << 20}, DType::kU8);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(small.raw_data()) % 64, 0u);
    EXPECT_LT(reinterpret_cast<uintptr_t>(large.raw_data()) % (2 << 20), internal::kPageColors)
        << "large blocks begin near the start of a huge page";
    EXPECT_GE(HostAllocator().stats().live_bytes - before.live_bytes, (5 << 20) + 3);
  }
  EXPECT_EQ(HostAllocator().stats().live_bytes, before.live_bytes);
  EXPECT_GE(HostAllocator().stats().allocations, before.allocations + 2);
}

TEST_P(TensorTest, UniformNumbersDependOnSeedAndSequenceOnly) {
  const Tensor few = Tensor::Empty(ctx(), {2});
  EXPECT_THROW(FillUniform(ctx(), few, 1, 0), Error);
  EXPECT_THROW(FillUniform(ctx(), few, std::numeric_limits<float>::quiet_NaN(), 0), Error);
  std::vector<float> first;
  for (const int threads : {1, 3}) {
    Context ctx({.threads = threads, .seed = 4});
    const Tensor a = Tensor::Empty(ctx, {300'001}), b = Tensor::Empty(ctx, {300'001});
    FillUniform(ctx, a, -2, 3);
    FillUniform(ctx, b, -2, 3);
    EXPECT_FALSE(SameBits(a, b)) << "each call takes a sequence of its own";
    EXPECT_EQ(ctx.random().next_sequence(), 2u);
    if (first.empty()) first = a.ToVector<float>();
    EXPECT_EQ(first, a.ToVector<float>());
  }
  double sum = 0, squares = 0;
  for (const float v : first) {
    ASSERT_TRUE(v >= -2 && v < 3);
    sum += static_cast<double>(v);
    squares += static_cast<double>(v) * static_cast<double>(v);
  }
  const double mean = sum / static_cast<double>(first.size());
  EXPECT_NEAR(mean, 0.5, 0.01);
  EXPECT_NEAR(squares / static_cast<double>(first.size()) - mean * mean, 25.0 / 12, 0.02);
}

TESSERA_INSTANTIATE_DEVICES(TensorTest);

}  // namespace
}  // namespace tessera
