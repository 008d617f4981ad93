#include <gtest/gtest.h>

#include "sparse/keyed_jagged_tensor.h"
#include "sparse/keyed_tensor.h"
#include "tests/sparse/random_kjt.h"
#include "tests/testing/devices.h"

namespace tessera {
namespace {

using Longs = std::vector<int64_t>;
using testing::AllKjtOptions;
using testing::Plain;
using testing::RandomKjt;
using testing::RandomKjtOptions;

class KjtDeviceTest : public testing::DeviceTest {
 protected:
  Context cpu_;
};

TEST_P(KjtDeviceTest, GoesThereAndBack) {
  std::mt19937 random(47);
  for (const RandomKjtOptions& options : AllKjtOptions()) {
    const KeyedJaggedTensor here = RandomKjt(cpu_, random, options),
                            there = here.To(ctx(), device());
    EXPECT_EQ(there.values().device(), device());
    EXPECT_EQ(there.lengths_or_none().defined(), here.lengths_or_none().defined());
    EXPECT_EQ(there.offsets_or_none().defined(), here.offsets_or_none().defined());
    EXPECT_EQ(there.length_per_key(), here.length_per_key());
    EXPECT_EQ(there.stride_per_key_per_rank(), here.stride_per_key_per_rank());
    EXPECT_EQ(Plain(ctx(), there), Plain(cpu_, here));
    EXPECT_TRUE(KjtIsEqual(cpu_, there.To(ctx(), Device::Cpu()), here));
  }
  EXPECT_EQ(KeyedJaggedTensor().To(ctx(), device()).num_keys(), 0);
}

TEST_P(KjtDeviceTest, InverseIndicesGoAlong) {
  KeyedJaggedTensorArgs args{.keys = {"a", "b"}, .values = Tensor::From(cpu_, Longs{1, 2, 3})};
  args.lengths = Tensor::From(cpu_, std::vector<int32_t>{1, 0, 2});
  args.stride_per_key_per_rank = {{2}, {1}};
  args.inverse_indices = {{"a", "b"}, Tensor::From(cpu_, {2, 3}, Longs{0, 1, 1, 0, 0, 0})};
  const KeyedJaggedTensor here(args), there = here.To(ctx(), device());
  EXPECT_EQ(there.stride(), 3);
  EXPECT_EQ(there.inverse_indices().indices.device(), device());
  EXPECT_TRUE(KjtIsEqual(cpu_, there.To(ctx(), Device::Cpu()), here));
}

// On the device and on the host, the same steps give the same.
TEST_P(KjtDeviceTest, OpsAgreeWithTheHost) {
  std::mt19937 random(53);
  for (const RandomKjtOptions& options : AllKjtOptions()) {
    const KeyedJaggedTensor here = RandomKjt(cpu_, random, options);
    const auto steps = [&](Context& ctx, const KeyedJaggedTensor& kjt) {
      const int64_t keys = kjt.num_keys();
      const std::vector<KeyedJaggedTensor> parts =
          kjt.Permute(ctx, {keys - 1, 0, keys / 2}).Split(ctx, {1, 0, 2});
      const KeyedJaggedTensor renamed =
          KeyedJaggedTensor::FromJtDict(ctx, {{"x", parts[0].AtIndex(ctx, 0)}});
      std::vector<KeyedJaggedTensor> joined = {kjt};
      if (!kjt.variable_stride_per_key()) joined.push_back(renamed);
      return KeyedJaggedTensor::Concat(ctx, joined);
    };
    const KeyedJaggedTensor there = steps(ctx(), here.To(ctx(), device()));
    EXPECT_EQ(there.length_per_key(), steps(cpu_, here).length_per_key());
    EXPECT_TRUE(KjtIsEqual(cpu_, there.To(ctx(), Device::Cpu()), steps(cpu_, here)));
  }
}

// A KJT made from tensors of the device finds its totals when they are asked for, in either way.
TEST_P(KjtDeviceTest, TotalsAreFoundWhenAskedFor) {
  std::mt19937 random(59);
  for (const RandomKjtOptions& options : AllKjtOptions()) {
    const std::mt19937 seed = random;
    const KeyedJaggedTensor here = RandomKjt(cpu_, random, options);
    random = seed;
    const KeyedJaggedTensor synced = RandomKjt(ctx(), random, options);
    EXPECT_EQ(synced.Sync(ctx()).offset_per_key(), here.offset_per_key());
    random = seed;
    EXPECT_EQ(RandomKjt(ctx(), random, options).length_per_key(), here.length_per_key());
  }
}

TEST_P(KjtDeviceTest, PartsOnDifferentDevicesAreRefused) {
  if (on_cpu()) GTEST_SKIP() << "one device";
  const Tensor values = Tensor::From(ctx(), Longs{1, 2}), lengths = Tensor::From(cpu_, Longs{2});
  EXPECT_THROW(KeyedJaggedTensor::FromLengthsSync({"a"}, values, lengths), Error);
  EXPECT_THROW(JaggedTensor(values, lengths), Error);
  const auto there = KeyedJaggedTensor::FromLengthsSync({"a"}, values, lengths.To(ctx(), device()));
  EXPECT_THROW(there.Permute(cpu_, {0}), Error);
  EXPECT_THROW(there.Validate(cpu_, {}), Error);
  there.Sync(ctx());
  EXPECT_THROW(there.Permute(cpu_, {0}), Error);
  EXPECT_THROW(there.To(cpu_, Device::Cpu()), Error);
}

TEST_P(KjtDeviceTest, KeyedTensorsGoToo) {
  const KeyedTensor here({"p", "q"}, {1, 2},
                         Tensor::From(cpu_, {2, 3}, std::vector<float>{1, 2, 3, 4, 5, 6}));
  const KeyedTensor there = here.To(ctx(), device());
  EXPECT_EQ(there.At(ctx(), "q").value().ToVector<float>(), (std::vector<float>{2, 3, 5, 6}));
  EXPECT_EQ(ToString(there), ToString(here));
}

TESSERA_INSTANTIATE_DEVICES(KjtDeviceTest);

}  // namespace
}  // namespace tessera
