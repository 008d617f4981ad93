// Ops that make the host wait for the device, and ops that do not: the emulator counts.
#include <gtest/gtest.h>

#include "sparse/ids/bucketize.h"
#include "sparse/jagged/jagged_dense.h"
#include "sparse/keyed_jagged_tensor.h"
#include "tests/sparse/random_kjt.h"
#include "tools/emulation/emulation.h"

namespace tessera {
namespace {

using Longs = std::vector<int64_t>;

class WaitsTest : public ::testing::Test {
 protected:
  // The number of waits in fn.
  template <typename Fn>
  int64_t Waits(Fn fn) {
    const int64_t before = cuda_emulation::Stats().syncs;
    fn();
    return cuda_emulation::Stats().syncs - before;
  }
  // The number of waits for a read of one number.
  int64_t OneRead() {
    const Tensor one = Tensor::Zeros(ctx_, {1});
    return Waits([&] { one.ToVector<float>(); });
  }
  KeyedJaggedTensor HostKjt() {
    return testing::RandomKjt(cpu_, random_, {.keys = 4, .batch = 6, .weighted = true});
  }

  std::mt19937 random_{61};
  Context cpu_, ctx_{{.device = Device::Cuda()}};
};

TEST_F(WaitsTest, NoneWithAKjtThatCameFromTheHost) {
  const KeyedJaggedTensor here = HostKjt();
  KeyedJaggedTensor kept;
  EXPECT_EQ(Waits([&] {
              const KeyedJaggedTensor there = here.To(ctx_, Device::Cuda()),
                                      permuted = there.Permute(ctx_, {2, 0, 3});
              const auto parts = permuted.Split(ctx_, {1, 2});
              kept = KeyedJaggedTensor::Concat(ctx_, parts);
              kept = KeyedJaggedTensor::FromJtDict(ctx_, kept.ToDict(ctx_));
              kept.Sync(ctx_);
              JaggedToPaddedDense(ctx_, kept.weights(), {kept.offsets(ctx_)}, {3});
            }),
            0);
  EXPECT_EQ(testing::Plain(ctx_, kept), testing::Plain(cpu_, here.Permute(cpu_, {2, 0, 3})));
}

TEST_F(WaitsTest, OneForTheWayBack) {
  const KeyedJaggedTensor there = HostKjt().To(ctx_, Device::Cuda());
  EXPECT_EQ(Waits([&] { there.To(ctx_, Device::Cpu()); }), OneRead());
}

TEST_F(WaitsTest, OneForTotalsThatNobodyKnows) {
  const KeyedJaggedTensor here = HostKjt();
  const auto made =
      KeyedJaggedTensor::FromLengthsSync(here.keys(), here.values().To(ctx_, Device::Cuda()),
                                         here.lengths(cpu_).To(ctx_, Device::Cuda()));
  EXPECT_EQ(Waits([&] { made.Split(ctx_, {1, 3}); }), OneRead());
  EXPECT_EQ(Waits([&] { made.Permute(ctx_, {3, 2, 1}); }), 0);
}

TEST_F(WaitsTest, NoneForTotalsThatAreGiven) {
  const KeyedJaggedTensor here = HostKjt();
  KeyedJaggedTensorArgs args{.keys = here.keys(), .values = here.values().To(ctx_, Device::Cuda())};
  args.lengths = here.lengths(cpu_).To(ctx_, Device::Cuda());
  args.length_per_key = here.length_per_key();
  EXPECT_EQ(Waits([&] { KeyedJaggedTensor(args).Split(ctx_, {1, 3}); }), 0);
}

TEST_F(WaitsTest, NoneForWhatAShardedInputNeeds) {
  const auto there = HostKjt().To(ctx_, Device::Cuda());
  BlockBucketizeArgs args{.lengths = there.lengths(ctx_),
                          .indices = there.values(),
                          .block_sizes = Tensor::Full(ctx_, {4}, 100, DType::kI64),
                          .my_size = 2,
                          .sequence = true};
  KeyedJaggedTensorDistArgs received{.keys = there.keys(), .tensors = there.DistTensors(ctx_)};
  received.stride_per_rank = {there.stride()};
  EXPECT_EQ(Waits([&] {
              BlockBucketizeSparseFeatures(ctx_, args);
              KeyedJaggedTensorFromDist(ctx_, received);
            }),
            0);
}

}  // namespace
}  // namespace tessera
