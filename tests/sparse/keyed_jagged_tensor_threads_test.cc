// Threads that share a KJT after its Sync. The thread sanitizer sees what they would write; without
// it, look-ups in an index that another thread fills find wrong keys, or crash.
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <iterator>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sparse/keyed_jagged_tensor.h"

namespace tessera {
namespace {

constexpr int kThreads = 4, kRounds = 20;
constexpr int64_t kKeys = 2000;

// Key f has one bag, of the value f.
KeyedJaggedTensor MakeKjt(Context& ctx) {
  std::vector<std::string> keys;
  std::vector<int64_t> values, offsets = {0};
  for (int64_t f = 0; f < kKeys; ++f) {
    keys.push_back("feature_" + std::to_string(f));
    values.push_back(f);
    offsets.push_back(f + 1);
  }
  return KeyedJaggedTensor::FromOffsetsSync(std::move(keys), Tensor::From(ctx, values),
                                            Tensor::From(ctx, offsets));
}

// Wrong answers of look-ups of all keys, and of a few bags.
int64_t CountWrong(Context& ctx, const KeyedJaggedTensor& kjt) {
  int64_t wrong = 0;
  for (int64_t f = 0; f < kKeys; ++f) wrong += kjt.IndexOf(kjt.keys()[static_cast<size_t>(f)]) != f;
  for (int64_t f = 0; f < kKeys; f += kKeys / 4) {
    const JaggedTensor bags = kjt.At(ctx, "feature_" + std::to_string(f));
    wrong += bags.values().value().ToVector<int64_t>() != std::vector<int64_t>{f};
  }
  return wrong + (kjt.lengths(ctx).numel() != kKeys) + (kjt.offsets(ctx).numel() != kKeys + 1) +
         (std::ssize(kjt.length_per_key()) != kKeys) + kjt.Contains("feature_x");
}

TEST(KeyedJaggedTensorThreadsTest, MayLookKeysUpAtOnceAfterSync) {
  Context ctx({.threads = 1});
  std::atomic<int64_t> wrong = 0;
  for (int round = 0; round < kRounds; ++round) {
    const KeyedJaggedTensor kjt = MakeKjt(ctx).Sync(ctx);
    std::barrier begin(kThreads);
    std::vector<std::jthread> threads;
    for (int t = 0; t < kThreads; ++t)
      threads.emplace_back([&] {
        Context own({.threads = 1});
        begin.arrive_and_wait();
        wrong += CountWrong(own, kjt);
      });
  }
  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace tessera
