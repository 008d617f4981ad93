// Pools over ranks against one pool that gets the ranks' updates one after another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>

#include "comm/local_communicator.h"
#include "sharding/pools/sharded_keyed_jagged_tensor_pool.h"
#include "sharding/pools/sharded_tensor_pool.h"
#include "tests/testing/devices.h"
#include "tests/testing/error_of.h"

namespace tessera {
namespace {

using Numbers = std::vector<int64_t>;

constexpr int64_t kPoolSize = 11;

// ids of a rank in a step, and as many rows of two numbers.
struct Batch {
  Numbers ids, values;
};

Batch DrawBatch(int rank, int step) {
  std::mt19937 random(static_cast<unsigned>(100 * step + rank));
  Batch batch;
  for (auto n = random() % 5; n > 0; --n) {
    batch.ids.push_back(static_cast<int64_t>(random() % kPoolSize));
    for (int d = 0; d < 2; ++d) batch.values.push_back(static_cast<int64_t>(random() % 1000));
  }
  return batch;
}

Tensor RowsOf(Context& ctx, const Batch& b) {
  return Tensor::From(ctx, {static_cast<int64_t>(b.ids.size()), 2}, b.values);
}

// Example i has values[2i] mod 3 values under a, and one more than that under b.
KeyedJaggedTensor KjtOf(Context& ctx, const Batch& b) {
  Numbers values, lengths;
  std::vector<float> weights;
  for (int64_t extra = 0; extra < 2; ++extra)
    for (size_t i = 0; i < b.ids.size(); ++i) {
      lengths.push_back(b.values[2 * i] % 3 + extra);
      for (int64_t k = 0; k < lengths.back(); ++k) {
        values.push_back(b.values[2 * i + 1] + k);
        weights.push_back(static_cast<float>(values.back()) / 8);
      }
    }
  return KeyedJaggedTensor::FromLengthsSync({"a", "b"}, Tensor::From(ctx, values),
                                            Tensor::From(ctx, lengths), Tensor::From(ctx, weights));
}

class ShardedPoolsTest : public testing::DeviceTest {
 protected:
  // Runs fn(context, communicator) on several ranks.
  template <typename Fn>
  void OnRanks(int ranks, const Fn& fn) {
    RunLocalRanks(ranks, [&](Communicator& comm) {
      Context ctx({.device = device(), .threads = 1});
      fn(ctx, comm);
      comm.Barrier(ctx, "end of the test").Wait();
    });
  }
};

TEST_P(ShardedPoolsTest, EqualOnePool) {
  for (const int ranks : {1, 2, 3, 7})
    OnRanks(ranks, [&](Context& ctx, Communicator& comm) {
      const FeatureMaxLengths features = {{"a", 2}, {"b", 3}};
      const KeyedJaggedTensorPoolOptions options = {.is_weighted = true};
      TensorPool whole(ctx, kPoolSize, 2, DType::kI64);
      ShardedTensorPool sharded(ctx, comm, kPoolSize, 2, DType::kI64);
      KeyedJaggedTensorPool whole_bags(ctx, kPoolSize, features, options);
      ShardedKeyedJaggedTensorPool bags(ctx, comm, kPoolSize, features, options);
      for (int step = 0; step < 3; ++step) {
        for (int rank = 0; rank < ranks; ++rank) {
          const Batch b = DrawBatch(rank, step);
          whole.Update(ctx, Tensor::From(ctx, b.ids), RowsOf(ctx, b));
          whole_bags.Update(ctx, Tensor::From(ctx, b.ids), KjtOf(ctx, b));
        }
        const Batch own = DrawBatch(comm.rank(), step);
        sharded.Update(ctx, Tensor::From(ctx, own.ids), RowsOf(ctx, own));
        bags.Update(ctx, Tensor::From(ctx, own.ids), KjtOf(ctx, own));
        const Tensor asked = Tensor::From(ctx, DrawBatch(comm.rank(), step + 10).ids);
        EXPECT_TRUE(
            SameBits(sharded.Lookup(ctx, asked).ToHost(), whole.Lookup(ctx, asked).ToHost()));
        EXPECT_TRUE(KjtIsEqual(ctx, bags.Lookup(ctx, asked), whole_bags.Lookup(ctx, asked)));
      }
      const int64_t first = sharded.first_row(), n = sharded.local().pool_size();
      EXPECT_TRUE(
          SameBits(sharded.local().pool().ToHost(), whole.pool().Rows(first, first + n).ToHost()));
      EXPECT_EQ(bags.first_row(), first);
      EXPECT_EQ(bags.local().pool_size(), n);
    });
}

TEST_P(ShardedPoolsTest, EveryRankHearsOfABadBatch) {
  OnRanks(2, [&](Context& ctx, Communicator& comm) {
    ShardedTensorPool pool(ctx, comm, kPoolSize, 2);
    const Tensor ids = Tensor::From<int64_t>(ctx, {comm.rank() == 1 ? kPoolSize : 0});
    EXPECT_THAT(testing::ErrorOf([&] { pool.Lookup(ctx, ids); }), ::testing::HasSubstr("id 11"));
    const Tensor rows = Tensor::Zeros(ctx, {1, comm.rank() == 0 ? 3 : 2}),
                 good = Tensor::From<int64_t>(ctx, {0});
    EXPECT_THAT(testing::ErrorOf([&] { pool.Update(ctx, good, rows); }),
                ::testing::HasSubstr("expected"));
    EXPECT_THAT(testing::ErrorOf([&] { ShardedTensorPool(ctx, comm, -1, 2); }),
                ::testing::HasSubstr("pool_size"));
  });
}

TESSERA_INSTANTIATE_DEVICES(ShardedPoolsTest);

}  // namespace
}  // namespace tessera
